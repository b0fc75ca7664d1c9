import { expect, test } from 'vitest'
import { FakeSysctl } from '../../kernel/testing/fake-sysctl.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { applySysctls, routesLocalnet } from './sysctls.ts'

const LOCALNET = 'net/ipv4/conf/all/route_localnet'
const MAX = 'net/netfilter/nf_conntrack_max'
const KERNEL = {
  [LOCALNET]: '0',
  [MAX]: '65536',
  'net/netfilter/nf_conntrack_buckets': '16384',
  'net/netfilter/nf_conntrack_tcp_timeout_established': '86400',
  'net/netfilter/nf_conntrack_tcp_timeout_close_wait': '60',
  'net/ipv4/ip_forward': '1',
}

function rig(overrides: Readonly<Record<string, string>> = {}) {
  const { log, lines } = recordingLog()
  return { sysctl: new FakeSysctl({ ...KERNEL, ...overrides }), log, lines }
}

test('only settings that are too small or differ are written', () => {
  const { sysctl, log } = rig()
  applySysctls(configuration({ 'iptables.localhostNodePorts': true }), sysctl, log)
  expect(sysctl.writes).not.toContain(LOCALNET)
  expect(sysctl.writes).not.toContain('net/netfilter/nf_conntrack_tcp_timeout_established')
  expect(sysctl.writes).toContain(MAX)
  expect(sysctl.values.get('net/netfilter/nf_conntrack_tcp_timeout_close_wait')).toBe('3600')
})

test('a conntrack limit that is larger in the kernel stays', () => {
  const { sysctl, log } = rig({ [MAX]: '99999999' })
  applySysctls(configuration(), sysctl, log)
  expect(sysctl.values.get(MAX)).toBe('99999999')
})

test('a setting that cannot be read or written is logged as a warning', () => {
  const { sysctl, log, lines } = rig()
  sysctl.readOnly.add(MAX)
  const read = sysctl.read.bind(sysctl)
  sysctl.read = (path) => {
    if (path.endsWith('ip_forward')) throw new Error('EACCES')
    return read(path)
  }
  applySysctls(configuration(), sysctl, log)
  expect(lines.filter((line) => line.startsWith('warn'))).toHaveLength(1)
  expect(lines.join()).toContain(MAX)
})

test.each([
  ['net/ipv4/ip_forward', 'IPv4 forwarding is off'],
  ['net/bridge/bridge-nf-call-iptables', 'bridged packets bypass iptables'],
])('%s = 0 is warned about, not changed', (path, words) => {
  const { sysctl, log, lines } = rig({ [path]: '0' })
  applySysctls(configuration(), sysctl, log)
  expect(lines.join()).toContain(words)
  expect(sysctl.values.get(path)).toBe('0')
})

test.each([
  [{}, false],
  [{ [LOCALNET]: '1' }, true],
  [{ [LOCALNET]: '2' }, true],
])('routesLocalnet treats values as the kernel does: %j', (values, routed) => {
  expect(routesLocalnet(rig(values).sysctl)).toBe(routed)
  expect(routesLocalnet(new FakeSysctl())).toBe(false)
})
