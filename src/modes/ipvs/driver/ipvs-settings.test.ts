import { expect, test } from 'vitest'
import { cidr, ip } from '../../../forwarding/testing/fixtures.ts'
import type { NodeProxyConfiguration } from '../../../nodeproxy/config/fields/configuration.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import type { Node } from '../../../resources/types.ts'
import { netfilterSettings } from '../../netfilter/settings/netfilter-settings.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import { ipvsSettings } from './ipvs-driver.ts'

const node: Node = {
  name: 'here',
  zone: undefined,
  addresses: [ip('192.0.2.1'), ip('198.51.100.7')],
  podCIDRs: [],
  leaving: false,
}
const LOCAL = ['127.0.0.1', '::1', '192.0.2.1', '10.0.0.1', '169.254.20.10', '2001:db8::1'].map(ip)

function settingsFor(
  values: Record<string, unknown> = {},
  rest: Partial<ModeInputs<NodeProxyConfiguration>> = {},
) {
  return ipvsSettings({
    config: configuration(values),
    node,
    facts: { families: [4, 6], hairpin: 'bpf', randomFully: true, routesLocalnet: false },
    localAddresses: LOCAL,
    ...rest,
  })
}

test('the defaults', () => {
  const { netfilter, ...settings } = settingsFor()
  expect(settings).toEqual({
    scheduler: 'rr',
    nodeAddresses: ['192.0.2.1', '10.0.0.1', '2001:db8::1'],
    excludeCIDRs: [],
    timeouts: { tcp: 0, tcpFin: 0, udp: 0 },
    drain: { tcp: 900, udp: 0, sctp: 900 },
  })
  expect(netfilter.families).toEqual([4, 6])
})

test('times are whole seconds, and none is rounded to nothing', () => {
  const { timeouts, drain } = settingsFor({
    'ipvs.tcpTimeout': 1_500,
    'ipvs.tcpFinTimeout': 1,
    'ipvs.udpTimeout': 300_000,
    'ipvs.gracefulTermination': { tcp: 1, udp: 2_000, sctp: 0 },
  })
  expect([timeouts, drain]).toEqual([
    { tcp: 2, tcpFin: 1, udp: 300 },
    { tcp: 1, udp: 2, sctp: 0 },
  ])
})

test.each([
  [[cidr('192.0.2.0/24')], ['192.0.2.1']],
  [
    [cidr('10.0.0.0/8'), cidr('2001:db8::/32')],
    ['10.0.0.1', '2001:db8::1'],
  ],
  [[cidr('127.0.0.0/8'), cidr('169.254.0.0/16'), cidr('::1/128')], []],
  ['primary', ['192.0.2.1']],
])('node ports on %j are those on %j', (nodePortAddresses, expected) => {
  expect(settingsFor({ nodePortAddresses }).nodeAddresses).toEqual(expected)
})

test('primary addresses wait for the Node object', () => {
  const values = { nodePortAddresses: 'primary' }
  expect(settingsFor(values, { node: undefined }).nodeAddresses).toEqual([])
})

test('addresses of a family that is not served serve nothing', () => {
  const facts = { families: [4], hairpin: 'bpf', randomFully: true, routesLocalnet: false } as const
  expect(settingsFor({}, { facts }).nodeAddresses).toEqual(['192.0.2.1', '10.0.0.1'])
})

test('loopback is guarded only where another program routes it', () => {
  const values = { 'iptables.localhostNodePorts': true }
  const facts = { families: [4], hairpin: 'bpf', randomFully: true, routesLocalnet: true } as const
  expect(settingsFor(values).netfilter).toEqual({
    ...netfilterSettings({
      config: configuration(values),
      node,
      facts: { ...facts, families: [4, 6] },
    }),
    dropMartians: false,
  })
  expect(settingsFor(values, { facts }).netfilter.dropMartians).toBe(true)
})

test('Service ranges leave out what other software has', () => {
  const values = {
    serviceCIDRs: [cidr('10.96.0.0/15')],
    'ipvs.excludeCIDRs': [cidr('10.97.0.0/16')],
  }
  expect(settingsFor(values).netfilter.serviceRanges).toEqual(['10.96.0.0/16'])
})
