import { expect, test } from 'vitest'
import { cidr, ip } from '../../forwarding/testing/fixtures.ts'
import { EVERY_ADDRESS } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { LocalTraffic } from '../../modes/netfilter/settings/settings.ts'
import { packetFacts } from './explain-message.ts'

const TEN: LocalTraffic = { by: 'source', cidrs: [cidr('10.0.0.0/8')] }
const BRIDGE: LocalTraffic = { by: 'bridge', name: 'cbr0' }
const PREFIX: LocalTraffic = { by: 'interfacePrefix', prefix: 'veth' }

const rulesOf = (localTraffic: LocalTraffic) => ({
  localTraffic,
  masqueradeAll: false,
  localhostNodePorts: false,
  nodePortScope: EVERY_ADDRESS,
  localAddresses: [ip('192.168.0.2'), ip('10.0.0.1')],
})

const factsOf = (localTraffic: LocalTraffic, inInterface: string) =>
  packetFacts(rulesOf(localTraffic), inInterface)

test.each([
  ['a source in the CIDR', TEN, 'eth0', '10.0.0.9', 'pod', false],
  ['a source outside of it', TEN, 'eth0', '203.0.113.2', 'outside', true],
  ['an address of the node', TEN, '', '192.168.0.2', 'node', true],
  ['an address of the node in the CIDR', TEN, '', '10.0.0.1', 'node', false],
  ['the family has no CIDR', TEN, 'eth0', '2001:db8::2', 'outside', false],
  ['nothing identifies Pods', { by: 'none' }, 'eth0', '203.0.113.2', 'outside', false],
  ['nor distinguishes the node', { by: 'none' }, '', '192.168.0.2', 'node', false],
  ['the interface of Pods', BRIDGE, 'cbr0', '203.0.113.2', 'pod', false],
  ['another interface', BRIDGE, 'eth0', '10.0.0.9', 'outside', true],
  ['no interface: from the node', BRIDGE, '', '192.168.0.2', 'node', true],
  ['an interface with the prefix', PREFIX, 'veth3', '2001:db8::2', 'pod', false],
] as const)('%s', (_, pods, inInterface, src, origin, isOffCluster) => {
  const facts = factsOf(pods, inInterface)
  expect(facts.originOf(ip(src))).toBe(origin)
  expect(facts.isOffCluster(ip(src))).toBe(isOffCluster)
})

test('addresses of Service ranges are refused, but for those of this node', () => {
  const refusedRanges = [cidr('172.30.0.0/16'), cidr('192.168.0.0/24')]
  const facts = packetFacts({ ...rulesOf(TEN), refusedRanges }, 'eth0')
  expect(facts.refusedRange(ip('172.30.0.1'))).toBe('172.30.0.0/16')
  expect(facts.refusedRange(ip('192.168.0.2'))).toBeUndefined()
  expect(facts.refusedRange(ip('8.8.8.8'))).toBeUndefined()
  expect(factsOf(TEN, 'eth0').refusedRange(ip('172.30.0.1'))).toBeUndefined()
})
