import { expect, test } from 'vitest'
import type { Endpoint } from '../resources/types.ts'
import { endpoint } from './testing/fixtures.ts'
import { preferNear } from './topology.ts'

type Hints = readonly [zones: readonly string[] | undefined, nodes?: readonly string[]]

function candidates(hints: readonly Hints[]) {
  return hints.map(([zoneHints, nodeHints], index) => {
    const one: Endpoint = endpoint(`10.0.0.${index}`, { zoneHints, nodeHints })
    return { endpoint: one, backend: { ip: one.ip, port: 80, weight: 1, local: false } }
  })
}

const A: Hints = [['zone-a']]
const B: Hints = [['zone-b']]

test.each<[string, readonly Hints[], string | undefined, readonly number[]]>([
  ['no hints: all', [[undefined], [undefined]], 'zone-a', [0, 1]],
  ['the zone of the node', [A, B, A], 'zone-a', [0, 2]],
  ['one endpoint for several zones', [[['zone-a', 'zone-b']], B], 'zone-b', [0, 1]],
  ['one without a hint: all', [A, B, [undefined]], 'zone-a', [0, 1, 2]],
  ['an empty hint is none: all', [A, [[]]], 'zone-a', [0, 1]],
  ['no endpoint for this zone: all', [A, B], 'zone-c', [0, 1]],
  ['a node without a zone: all', [A, B], undefined, [0, 1]],
  [
    'node hints come first',
    [
      [['zone-a'], ['here']],
      [['zone-a'], ['there']],
    ],
    'zone-a',
    [0],
  ],
  [
    'node hints need no zone',
    [
      [undefined, ['here']],
      [undefined, ['there']],
    ],
    undefined,
    [0],
  ],
  [
    'no endpoint for this node: zone',
    [
      [['zone-a'], ['x']],
      [['zone-b'], ['y']],
    ],
    'zone-a',
    [0],
  ],
  ['one without a node hint: zone', [[['zone-a'], ['here']], B, A], 'zone-a', [0, 2]],
  ['no endpoints', [], 'zone-a', []],
])('%s', (_, hints, zone, expected) => {
  const all = candidates(hints)
  const { chosen } = preferNear(all, { name: 'here', zone })
  expect(chosen).toEqual(expected.map((index) => all[index]))
})

test.each<[string, readonly Hints[], string | undefined, object]>([
  ['for the node', [[['zone-b'], ['here']]], 'zone-a', { by: 'nodeHints', ignored: undefined }],
  ['for the zone', [A, B], 'zone-a', { by: 'zoneHints', ignored: undefined }],
  ['for other zones', [A, B], 'zone-c', { by: undefined, ignored: 'noneHere' }],
  ['of some alone', [A, [undefined]], 'zone-a', { by: undefined, ignored: 'incomplete' }],
  ['without a zone', [A, B], undefined, { by: undefined, ignored: 'unknownPlace' }],
])('what hints did: %s', (_, hints, zone, expected) => {
  expect(preferNear(candidates(hints), { name: 'here', zone })).toMatchObject(expected)
})
