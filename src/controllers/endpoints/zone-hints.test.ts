import { expect, test } from 'vitest'
import { zoneHints } from './zone-hints.ts'

type Zones = readonly (readonly [string, number])[]

const THREE: Zones = [
  ['a', 4000],
  ['b', 4000],
  ['c', 4000],
]

function reason(zones: Zones, zonesOfEndpoints: string, incomplete = 0): string | undefined {
  const endpoints = zonesOfEndpoints
    .split('')
    .map((zone, i) => ({ id: `${i}`, zone: zone === '-' ? '' : zone }))
  return zoneHints(endpoints, { zones: new Map(zones), incomplete }).problem?.reason
}

test.each<[string, Zones, string, number, string | undefined]>([
  ['an endpoint for each zone', THREE, 'abc', 0, undefined],
  ['a zone without endpoints of its own', THREE, 'aabbab', 0, undefined],
  ['endpoints in a zone without nodes', THREE, 'abcxxx', 0, undefined],
  ['no nodes', [], 'abc', 0, 'FewerThanTwoZones'],
  ['nodes in one zone', [['a', 4000]], 'abc', 0, 'FewerThanTwoZones'],
  ['a node without zone or processors', THREE, 'abc', 1, 'InsufficientNodeInformation'],
  ['no endpoints', THREE, '', 0, 'FewerEndpointsThanZones'],
  ['fewer endpoints than zones', THREE, 'ab', 0, 'FewerEndpointsThanZones'],
  ['a share that would overload a zone', THREE, 'abca', 0, 'OverloadThresholdExceeded'],
  ['an endpoint without zone', THREE, 'ab-', 0, 'EndpointWithoutZone'],
])('%s', (_, zones, zonesOfEndpoints, incomplete, expected) => {
  expect(reason(zones, zonesOfEndpoints, incomplete)).toBe(expected)
})
