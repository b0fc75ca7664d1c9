import { expect, test } from 'vitest'
import { cidr, ip } from '../../../forwarding/testing/fixtures.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import type { Node } from '../../../resources/types.ts'
import { serviceRanges } from './service-ranges.ts'

const node: Node = {
  name: 'here',
  zone: undefined,
  addresses: [ip('192.0.2.1'), ip('2001:db8::1')],
  podCIDRs: [cidr('10.180.0.0/24')],
  leaving: false,
}
const announced = [cidr('10.96.0.0/12'), cidr('fd00:96::/108')]
const rangesFor = (values: Record<string, unknown>, serviceCIDRs = announced) =>
  serviceRanges({ config: configuration(values), node, serviceCIDRs })

test('the ranges of the API server, unless the configuration has some or refuses none', () => {
  const nothing = { ofNode: [], ofPods: [] }
  const own = [cidr('172.30.0.0/16')]
  expect(rangesFor({})).toEqual({ refused: announced, ...nothing })
  expect(rangesFor({ serviceCIDRs: own })).toEqual({ refused: own, ...nothing })
  expect(rangesFor({ serviceCIDRs: 'none' })).toEqual({ refused: [], ...nothing })
  expect(rangesFor({}, [])).toEqual({ refused: [], ...nothing })
  expect(serviceRanges({ config: configuration({}), node: undefined }).refused).toEqual([])
})

test('a range with an address of the node is its network: nothing in it is refused', () => {
  const serviceCIDRs = [cidr('192.0.0.0/16'), cidr('10.96.0.0/12')]
  expect(rangesFor({}, serviceCIDRs)).toEqual({
    refused: [serviceCIDRs[1]],
    ofNode: [serviceCIDRs[0]],
    ofPods: [],
  })
})

test('addresses of Pods are never refused', () => {
  const clusterCIDR = [cidr('10.97.0.0/16')]
  const inside = rangesFor({ clusterCIDR }, [cidr('10.96.0.0/15')])
  expect(inside).toEqual({
    refused: ['10.96.0.0/16'],
    ofNode: [],
    ofPods: ['10.96.0.0/15'],
  })
  expect(rangesFor({}, [cidr('10.180.0.0/25')]).refused).toEqual([])
})
