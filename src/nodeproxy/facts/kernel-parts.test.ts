import { describe, expect, test } from 'vitest'
import type { RunCommand } from '../../explain/host/run-command.ts'
import { isOwnRule, readMasquerades } from './read-masquerades.ts'
import {
  processAtSocket,
  readInterfaces,
  readListeners,
  readRules,
  readSettings,
  readUplink,
} from './read-node-facts.ts'

/** Runs nothing: commands by their words, others are not there. */
function answers(outputs: Readonly<Record<string, string>>): RunCommand {
  return async (program, args) => {
    const stdout = outputs[[program, ...args].join(' ')]
    return stdout === undefined
      ? { status: 127, stdout: '', stderr: '' }
      : { status: 0, stdout, stderr: '' }
  }
}

describe('isOwnRule', () => {
  test.each([
    ['iptables filter NPROXY-FORWARD', '-A NPROXY-FORWARD -j DROP'],
    ['iptables nat PREROUTING', '-A PREROUTING -j NPUS-SERVICES'],
    ['', 'NPVS-X -j DROP'],
    ['nft inet node-proxy filter', 'drop'],
    ['nft ip node-proxy-guard input', 'drop'],
  ])('%s: %s', (where, rule) => expect(isOwnRule(where, rule)).toBe(true))

  test.each([
    ['iptables filter FORWARD', '-A FORWARD -d 10.0.0.1/32 -j DROP'],
    ['nft inet node-proxy-like filter', 'drop'],
    ['nft inet firewall node-proxy', 'drop'],
    ['iptables filter UNPROXY-X', '-A UNPROXY-X -j DROP'],
  ])('not %s: %s', (where, rule) => expect(isOwnRule(where, rule)).toBe(false))
})

test('rules are counted by program, those of iptables once', async () => {
  const save =
    '*nat\n:NPROXY-X - [0:0]\n[1:60] -A PREROUTING -j NPROXY-X\n-A FORWARD -j DROP\nCOMMIT\n'
  const list =
    'table ip filter {\n\tchain FORWARD {\n\t\tdrop # handle 3\n\t}\n}\n' +
    'table inet node-proxy { # handle 1\n\tchain a {\n\t\ttype filter hook input priority 0;\n\t\taccept # handle 4\n\t}\n}\n' +
    'table inet other {\n\tchain b {\n\t\tdrop # handle 5\n\t\tdrop # handle 6\n\t}\n}\n'
  const run = answers({
    'iptables-nft-save -c': save,
    'nft -a -t list ruleset': list,
    'nft -j -t list ruleset': '{}',
  })
  const unusual = async () => [{ family: 'ip', name: 'a;b' }]
  expect(await readRules({ run, nftTables: unusual })).toEqual([
    { program: 'iptables-nft', own: 1, others: 1 },
    { program: 'nft', own: 1, others: 2 },
  ])
})

test('rules that do not choose source ports at random, the busiest first', async () => {
  const masquerade = '-A POSTROUTING -s 10.0.0.0/24 -j MASQUERADE'
  const save = [
    `[3:180] ${masquerade}`,
    `[9:540] ${masquerade} --random-fully`,
    '[0:0] -A POSTROUTING -j MASQUERADE',
    '[7:420] -A out -p udp -j SNAT --to-source 192.0.2.1:4000-4009',
    '[8:480] -A out -m comment --comment "MASQUERADE" -j RETURN',
  ]
  const list = [
    'table ip nat {\n\tchain POSTROUTING {\n\t\tmasquerade # handle 3\n\t}\n}',
    'table inet fw {\n\tchain out {\n\t\tcounter packets 5 bytes 6 masquerade # handle 3',
    '\t\tmasquerade fully-random # handle 4\n\t\toifname "a" snat to 192.0.2.1 # handle 5\n\t}\n}',
  ]
  const run = answers({
    'iptables-legacy-save -c': save.join('\n'),
    'nft -a -t list ruleset': list.join('\n'),
    'nft -j -t list ruleset': '{}',
  })
  const unusual = async () => [{ family: 'ip', name: 'a;b' }]
  const out = { where: 'nft inet fw out' }
  expect(await readMasquerades({ run, nftTables: unusual })).toEqual([
    {
      where: 'iptables-legacy nat out',
      packets: 7,
      rule: '-A out -p udp -j SNAT --to-source 192.0.2.1:4000-4009',
    },
    { ...out, rule: 'counter packets 5 bytes 6 masquerade', packets: 5 },
    { where: 'iptables-legacy nat POSTROUTING', rule: masquerade, packets: 3 },
    { ...out, rule: 'oifname "a" snat to 192.0.2.1', packets: -1 },
  ])
})

test('settings that the kernel does not have are left out', () => {
  const read = (path: string) => (path === 'net/ipv4/ip_forward' ? '1' : undefined)
  expect(readSettings({ read })).toEqual({ 'net.ipv4.ip_forward': '1' })
})

test('interfaces with their kind, and the stricter of two filters', async () => {
  const links = [
    { ifname: 'eth0', mtu: 1500, flags: ['BROADCAST', 'UP'] },
    {
      ifname: 'vx0',
      mtu: 1450,
      flags: [],
      master: 'br0',
      linkinfo: { info_kind: 'vxlan', info_data: { link: 'eth0', local6: '::1' } },
    },
    { ifname: 'e/v:il', mtu: 1, flags: ['UP'], link: 'eth0' },
  ]
  const run = answers({ 'ip -j -d link': JSON.stringify(links) })
  const read = (path: string) =>
    path.includes('/eth0/') ? '2' : path.includes('/all/') ? '1' : '0'
  const usual = { kind: '', master: '', lower: '', isUp: true, isTunnelV6: false, rpFilter: 1 }
  expect(await readInterfaces({ run, sysctl: { read } })).toEqual([
    { ...usual, name: 'eth0', mtu: 1_500, rpFilter: 2 },
    {
      ...usual,
      name: 'vx0',
      kind: 'vxlan',
      mtu: 1_450,
      master: 'br0',
      lower: 'eth0',
      isUp: false,
      isTunnelV6: true,
    },
    { ...usual, name: 'e/v:il', mtu: 1, lower: 'eth0' },
  ])
})

test('the uplink is that of IPv4, else of IPv6', async () => {
  const four = { 'ip -j -4 route show default': '[{"dst":"default","dev":"eth0"}]' }
  const six = { 'ip -j -6 route show default': '[{"dst":"default","dev":"eth6"}]' }
  const none = { 'ip -j -4 route show default': '', 'ip -j -6 route show default': '[]' }
  expect(await readUplink({ run: answers({ ...six, ...four }) })).toBe('eth0')
  expect(await readUplink({ run: answers({ ...none, ...six }) })).toBe('eth6')
  expect(await readUplink({ run: answers(none) })).toBe('')
})

test('sockets with their processes', async () => {
  const run = answers({
    'ss -Hlntup':
      'tcp LISTEN 0 128 0.0.0.0:30080 0.0.0.0:* users:(("nginx",pid=12,fd=3))\n' +
      'udp UNCONN 0 0 [::]:53 [::]:*\n',
    'ss -Hxlp': 'u_str LISTEN 0 5 /run/a.sock 123 * 0 users:(("node",pid=77,fd=9))\n',
  })
  expect(await readListeners(run)).toEqual([
    { protocol: 'TCP', address: '0.0.0.0', port: 30_080, process: 'nginx', pid: 12 },
    { protocol: 'UDP', address: '[::]', port: 53, process: '', pid: 0 },
  ])
  expect(await processAtSocket(run, '/run/a.sock')).toBe(77)
  expect(await processAtSocket(run, '/run/a')).toBe(0)
  expect(await readListeners(answers({}))).toEqual([])
})
