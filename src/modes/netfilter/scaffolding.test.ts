import { expect, test } from 'vitest'
import { cidr, ip, settings } from '../testing/mode-fixtures.ts'
import { forward, martians } from './filter-rules.ts'
import { fromPods, notFromPods } from './local-traffic.ts'
import { clearMark, isMarked, isNotMarked, isRouted, routingBit, setMark } from './mark.ts'
import { toNodePorts } from './node-ports.ts'
import { isHairpinOffLoopback, postrouting } from './postrouting.ts'
import { NO_ADDRESS } from './settings/node-port-scope.ts'
import type { LocalTraffic, NetfilterSettings } from './settings/settings.ts'

test.each([
  [0, '0x1'],
  [14, '0x4000'],
  [31, '0x80000000'],
])('mark bit %i is %s', (masqueradeBit, bit) => {
  const marks = [setMark, isMarked, isNotMarked, clearMark].map((of) =>
    of({ masqueradeBit }).trim(),
  )
  expect(marks).toEqual([
    `-j MARK --set-xmark ${bit}/${bit}`,
    `-m mark --mark ${bit}/${bit}`,
    `-m mark ! --mark ${bit}/${bit}`,
    `-j MARK --set-xmark ${bit}/0x0`,
  ])
})

test.each([
  [0, 0x2, '0x2'],
  [1, 0x1, '0x1'],
  [14, 0x2000, '0x2000'],
  [31, 0x4000_0000, '0x40000000'],
])('with mark bit %i, ipvs mode takes packets by %i', (masqueradeBit, mark, text) => {
  expect(routingBit({ masqueradeBit })).toBe(mark)
  expect(isRouted({ masqueradeBit })).toBe(`-m mark --mark ${text}/${text} `)
})

test('masquerade: hairpin first, then every marked packet, whose mark is cleared', () => {
  const rules = postrouting(settings(), 4)
  expect(rules[0]).toMatch(/--bytecode ".*" -j MASQUERADE --random-fully$/)
  expect(rules.slice(1)).toEqual([
    '-m mark ! --mark 0x4000/0x4000 -j RETURN',
    '-j MARK --set-xmark 0x4000/0x0',
    '-j MASQUERADE --random-fully',
  ])
  const byIpvs = postrouting(settings(), 4, isHairpinOffLoopback(4))
  expect(byIpvs[0]).toBe(`${isHairpinOffLoopback(4)}-j MASQUERADE --random-fully`)
  expect(byIpvs.slice(1)).toEqual(rules.slice(1))
  const plain = postrouting(settings({ hairpin: 'rules', randomFully: false }), 6)
  expect(plain).toHaveLength(3)
  expect(plain.at(-1)).toBe('-j MASQUERADE')
})

test('what we sent is accepted; invalid packets are dropped only where dropInvalid is set', () => {
  expect(forward(settings())).toEqual([
    '-m conntrack --ctstate INVALID -j DROP',
    '-m mark --mark 0x4000/0x4000 -j ACCEPT',
    '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
  ])
  expect(forward(settings({ dropInvalid: false }))).toHaveLength(2)
})

test('foreign packets for loopback are dropped when configured, in IPv4', () => {
  const guarded = settings({ dropMartians: true })
  expect(martians(guarded, 4)).toEqual([
    '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
  ])
  expect(martians(guarded, 6)).toEqual([])
  expect(martians(settings(), 4)).toEqual([])
})

test.each<[string, LocalTraffic, string | undefined, string | undefined]>([
  [
    'a network',
    { by: 'source', cidrs: [cidr('10.0.0.0/8')] },
    '-s 10.0.0.0/8 ',
    '! -s 10.0.0.0/8 ',
  ],
  ['every source', { by: 'source', cidrs: [cidr('0.0.0.0/0')] }, '', undefined],
  [
    'a network of the other family',
    { by: 'source', cidrs: [cidr('fd00::/8')] },
    undefined,
    undefined,
  ],
  ['a bridge', { by: 'bridge', name: 'cbr0' }, '-i cbr0 ', '! -i cbr0 '],
  ['a prefix', { by: 'interfacePrefix', prefix: 'veth' }, '-i veth+ ', '! -i veth+ '],
  ['nothing', { by: 'none' }, undefined, undefined],
])('pods known by %s', (_, localTraffic, pods, others) => {
  const given = settings({ localTraffic })
  const text = (match: ReturnType<typeof fromPods>) => match && match.source + match.interface
  expect([text(fromPods(given, 4)), text(notFromPods(given, 4))]).toEqual([pods, others])
})

test.each([
  [
    'everywhere but on loopback',
    {},
    ['-d 127.0.0.0/8 -j RETURN', '-m addrtype --dst-type LOCAL -j X'],
    ['-d ::1/128 -j RETURN', '-m addrtype --dst-type LOCAL -j X'],
  ],
  [
    'on loopback too, which IPv6 cannot',
    { localhostNodePorts: true },
    ['-m addrtype --dst-type LOCAL -j X'],
    ['-d ::1/128 -j RETURN', '-m addrtype --dst-type LOCAL -j X'],
  ],
  [
    'in some networks',
    {
      nodePortScope: {
        kind: 'networks',
        networks: [cidr('192.0.2.0/24'), cidr('198.51.100.7/32'), cidr('::/0')],
      },
    },
    [
      '-d 127.0.0.0/8 -j RETURN',
      '-d 192.0.2.0/24 -m addrtype --dst-type LOCAL -j X',
      '-d 198.51.100.7/32 -m addrtype --dst-type LOCAL -j X',
    ],
    ['-d ::1/128 -j RETURN', '-m addrtype --dst-type LOCAL -j X'],
  ],
  [
    'on some addresses',
    { nodePortScope: { kind: 'addresses', addresses: [ip('192.0.2.1'), ip('2001:db8::1')] } },
    ['-d 127.0.0.0/8 -j RETURN', '-d 192.0.2.1/32 -m addrtype --dst-type LOCAL -j X'],
    ['-d ::1/128 -j RETURN', '-d 2001:db8::1/128 -m addrtype --dst-type LOCAL -j X'],
  ],
  [
    'in one family only',
    { nodePortScope: { kind: 'networks', networks: [cidr('192.0.2.0/24')] } },
    ['-d 127.0.0.0/8 -j RETURN', '-d 192.0.2.0/24 -m addrtype --dst-type LOCAL -j X'],
    ['-d ::1/128 -j RETURN'],
  ],
  [
    'on no address',
    { nodePortScope: NO_ADDRESS, localhostNodePorts: true },
    [],
    ['-d ::1/128 -j RETURN'],
  ],
  [
    'in no network',
    { nodePortScope: { kind: 'networks', networks: [] } },
    ['-d 127.0.0.0/8 -j RETURN'],
    ['-d ::1/128 -j RETURN'],
  ],
] satisfies readonly (readonly [
  string,
  Partial<NetfilterSettings>,
  readonly string[],
  readonly string[],
])[])('node ports %s', (_, overrides, four, six) => {
  expect(toNodePorts(settings(overrides), 4, 'X')).toEqual(four)
  expect(toNodePorts(settings(overrides), 6, 'X')).toEqual(six)
})
