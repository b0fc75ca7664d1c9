import { expect, test } from 'vitest'
import { cidr, ip } from '../../../forwarding/testing/fixtures.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import type { Node } from '../../../resources/types.ts'
import { netfilterSettings, serviceRanges } from './netfilter-settings.ts'

const facts = {
  families: [4, 6],
  hairpin: 'bpf',
  randomFully: true,
  routesLocalnet: false,
} as const
const node: Node = {
  name: 'here',
  zone: undefined,
  addresses: [ip('192.0.2.1'), ip('2001:db8::1')],
  podCIDRs: [cidr('10.180.0.0/24'), cidr('fd00:10::/64')],
  leaving: false,
}
const settingsFor = (values: Record<string, unknown> = {}, of: Node | undefined = node) =>
  netfilterSettings({ config: configuration(values), node: of, facts })

test('the defaults distinguish no sources and open nothing', () => {
  expect(settingsFor()).toEqual({
    families: [4, 6],
    hairpin: 'bpf',
    randomFully: false,
    masqueradeBit: 14,
    masqueradeAll: false,
    localTraffic: { by: 'none' },
    nodePortScope: { kind: 'all' },
    localhostNodePorts: false,
    dropMartians: false,
    dropInvalid: true,
  })
})

test.each([
  [{ clusterCIDR: [cidr('10.0.0.0/8')] }, { by: 'source', cidrs: ['10.0.0.0/8'] }],
  [{ detectLocalMode: 'NodeCIDR' }, { by: 'source', cidrs: node.podCIDRs }],
  [
    { detectLocalMode: 'BridgeInterface', 'detectLocal.bridgeInterface': 'cbr0' },
    { by: 'bridge', name: 'cbr0' },
  ],
  [
    { detectLocalMode: 'InterfaceNamePrefix', 'detectLocal.interfaceNamePrefix': 'veth' },
    { by: 'interfacePrefix', prefix: 'veth' },
  ],
])('%j', (values, localTraffic) => {
  expect(settingsFor(values).localTraffic).toEqual(localTraffic)
})

test('until the Node object names pod networks nothing counts as a pod', () => {
  const { localTraffic } = netfilterSettings({
    config: configuration({ detectLocalMode: 'NodeCIDR' }),
    node: undefined,
    facts,
  })
  expect(localTraffic).toEqual({ by: 'source', cidrs: [] })
})

test.each([
  [false, false, false],
  [true, false, true],
  [false, true, true],
])('loopback %s, routed already %s: martians are dropped %s', (serve, routed, drop) => {
  const config = configuration({ 'iptables.localhostNodePorts': serve })
  const settings = netfilterSettings({
    config,
    node,
    facts: { ...facts, routesLocalnet: routed },
  })
  expect([settings.localhostNodePorts, settings.dropMartians]).toEqual([serve, drop])
})

test('liberal tracking calls nothing invalid', () => {
  expect(settingsFor({ 'conntrack.tcpBeLiberal': true }).dropInvalid).toBe(false)
})

test.each([
  ['auto', {}, false],
  ['auto', { searchesPortsInOrder: false }, false],
  ['auto', { searchesPortsInOrder: true }, true],
  ['keep', { searchesPortsInOrder: true }, false],
  ['random', {}, true],
  ['random', { randomFully: false }, false],
  ['auto', { searchesPortsInOrder: true, randomFully: false }, false],
])('ports %s where the kernel is %j: at random %s', (ports, kernel, randomFully) => {
  const config = configuration({ 'iptables.masqueradePorts': ports })
  const settings = netfilterSettings({ config, node, facts: { ...facts, ...kernel } })
  expect(settings.randomFully).toBe(randomFully)
  expect(settings).not.toHaveProperty('searchesPortsInOrder')
})

const nodeOfRanges: Node = {
  name: 'here',
  zone: undefined,
  addresses: [ip('192.0.2.1'), ip('2001:db8::1')],
  podCIDRs: [cidr('10.180.0.0/24')],
  leaving: false,
}
const announced = [cidr('10.96.0.0/12'), cidr('fd00:96::/108')]
const rangesFor = (values: Record<string, unknown>, serviceCIDRs = announced) =>
  serviceRanges({ config: configuration(values), node: nodeOfRanges, serviceCIDRs })

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
