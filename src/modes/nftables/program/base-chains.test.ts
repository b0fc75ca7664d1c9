import { expect, test } from 'vitest'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { cidr, ip, settings } from '../../testing/mode-fixtures.ts'
import { showBase } from '../testing/show-program.ts'
import { baseChains } from './base-chains.ts'

const TRANSLATED = 'ct status & 20000000 != 00000000'
const NOT_TRANSLATED = 'ct status & 20000000 == 00000000'
const NEW = 'ct state & 08000000 != 00000000'
const TO_NODE = 'fib daddr type == 02000000'
const FROM_NODE = 'fib saddr type == 02000000'
const FROM_POD = 'saddr/8 == 0a'
const SERVICE = 'daddr . l4proto . dport'

const base = (overrides: Partial<NetfilterSettings> = {}, family: 4 | 6 = 4) =>
  showBase(settings(overrides), family)

test('the kernel calls nine chains; masquerade comes before that of others', () => {
  const hooks = baseChains(settings(), 4).map(({ name, spec: { hook } }) =>
    hook ? `${name}: ${hook.type} ${hook.hook} ${hook.priority}` : name,
  )
  expect(hooks).toEqual([
    'prerouting: nat prerouting -102',
    'prerouting-again: nat prerouting -101',
    'output: nat output -102',
    'output-again: nat output -101',
    'input: nat input 99',
    'postrouting: nat postrouting 99',
    'filter-input: filter input 0',
    'filter-forward: filter forward 0',
    'filter-output: filter output 0',
    'dispatch',
    'dispatch-node-ports',
    'unserved',
    'rejected',
    'translated',
  ])
})

test('dispatch: what another mode took, source ranges, pods and node, everyone, node ports', () => {
  const chains = base()
  const first = (end: string) => [
    'mark & 00200000 == 00200000 return',
    `${SERVICE} @limited-services ${SERVICE} . saddr != @source-ranges ${end}`,
    'jump dispatch',
  ]
  expect([chains['prerouting'], chains['output']]).toEqual([first('return'), first('return')])
  expect([chains['prerouting-again'], chains['output-again']]).toEqual([
    first('drop'),
    first('drop'),
  ])
  expect(chains['dispatch']).toEqual([
    `${FROM_POD} ${SERVICE} vmap @inside-services`,
    `${FROM_NODE} ${SERVICE} vmap @inside-services`,
    `${SERVICE} vmap @services`,
    'daddr/8 == 7f return',
    `${TO_NODE} jump dispatch-node-ports`,
  ])
  expect(chains['dispatch-node-ports']).toEqual([
    `${FROM_POD} l4proto . dport vmap @inside-node-ports`,
    `${FROM_NODE} l4proto . dport vmap @inside-node-ports`,
    'l4proto . dport vmap @node-ports',
  ])
})

test('inside is also the node where no pods are known, and everyone where every source is a pod', () => {
  const inside = (localTraffic: NetfilterSettings['localTraffic']) =>
    base({ localTraffic })['dispatch-node-ports']?.slice(0, -1)
  const lookup = 'l4proto . dport vmap @inside-node-ports'
  expect(inside({ by: 'none' })).toEqual([`${FROM_NODE} ${lookup}`])
  const every = { by: 'source', cidrs: [cidr('0.0.0.0/0')] } as const
  expect(inside(every)).toEqual([lookup, `${FROM_NODE} ${lookup}`])
})

test.each([
  ['every address', {}, [TO_NODE]],
  [
    'some networks',
    { nodePortScope: { kind: 'networks', networks: [cidr('10.0.0.0/8'), cidr('fd00::/8')] } },
    [`daddr @node-port-addresses ${TO_NODE}`],
  ],
  [
    'some addresses',
    { nodePortScope: { kind: 'addresses', addresses: [ip('192.0.2.1')] } },
    [`daddr @node-port-addresses ${TO_NODE}`],
  ],
  [
    'all networks',
    { nodePortScope: { kind: 'networks', networks: [cidr('0.0.0.0/0')] } },
    [TO_NODE],
  ],
  ['networks of IPv6', { nodePortScope: { kind: 'networks', networks: [cidr('fd00::/8')] } }, []],
  ['no address', { nodePortScope: { kind: 'addresses', addresses: [] } }, []],
] as const)('node ports are served at %s', (_what, overrides, matches) => {
  const { dispatch, unserved } = base(overrides)
  expect(dispatch?.slice(4)).toEqual(matches.map((match) => `${match} jump dispatch-node-ports`))
  expect(unserved?.slice(3)).toEqual(
    matches.map((match) => `${match} l4proto . dport vmap @no-endpoint-node-ports`),
  )
})

test('127.0.0.1 serves node ports where that is configured, ::1 never', () => {
  const loopback = (family: 4 | 6) =>
    base({ localhostNodePorts: true }, family)['dispatch']?.filter((rule) =>
      rule.endsWith('return'),
    )
  expect(loopback(4)).toEqual([])
  expect(loopback(6)).toEqual([`daddr == ${'00'.repeat(15)}01 return`])
})

test('new connections that nothing translated are answered where a pool is empty', () => {
  const chains = base()
  const answer = `${NEW} ${NOT_TRANSLATED} jump unserved`
  expect(chains['filter-output']).toEqual([answer])
  expect(chains['filter-forward']).toEqual(['ct state & 01000000 != 00000000 drop', answer])
  expect(base({ dropInvalid: false })['filter-forward']).toEqual([answer])
  expect(chains['unserved']?.[0]).toBe(`${SERVICE} vmap @no-endpoints`)
  expect(chains['rejected']).toEqual([
    'l4proto == 06 reject with tcpReset',
    'reject with portUnreachable',
  ])
})

test('what another mode has delivered to this node at the address of its Service is not answered', () => {
  expect(base()['filter-input']).toEqual([`${NEW} ${NOT_TRANSLATED} ${TO_NODE} jump unserved`])
})

test('a kernel that routes loopback is guarded against its neighbours, in IPv4', () => {
  const guard = `saddr/8 != 7f daddr/8 == 7f ct state & 06000000 == 00000000 ${NOT_TRANSLATED} drop`
  expect(base({ dropMartians: true })['filter-input']?.[0]).toBe(guard)
  expect(base({ dropMartians: true }, 6)['filter-input']).toHaveLength(1)
})

test.each([
  [4, '255.0.0.0'],
  [6, 'ff00::'],
] as const)('IPv%s: counting and affinity, hairpin, the mark', (family, firstByte) => {
  const [once, hairpin = '', ...marked] = base({}, family)['postrouting'] ?? []
  expect(once).toBe(`${TRANSLATED} jump translated`)
  expect(hairpin.split('@same-byte')).toHaveLength(family === 4 ? 5 : 17)
  expect(hairpin).toMatch(new RegExp(`^${TRANSLATED} saddr & `))
  expect(hairpin).toMatch(
    `saddr & ${firstByte} . daddr & ${firstByte} @same-byte masquerade fully-random`,
  )
  expect(marked).toEqual([
    'mark & 00400000 != 00400000 return',
    'mark set mark & ffffffff ^ 00004000',
    'masquerade fully-random',
  ])
})

test('marks follow the configured bit, the highest as well', () => {
  const { prerouting, postrouting } = base({ masqueradeBit: 31, randomFully: false })
  expect(prerouting?.[0]).toBe('mark & 00000040 == 00000040 return')
  expect(postrouting?.slice(2)).toEqual([
    'mark & 00000080 != 00000080 return',
    'mark set mark & ffffffff ^ 80000000',
    'masquerade',
  ])
})

test('the first packet of a connection is remembered by where it was sent, in each protocol, and counted where that is wanted', () => {
  const chains = base()
  expect(chains['input']).toEqual([`${TRANSLATED} jump translated`])
  const port = 'l4proto . ct original protoDestination'
  const rules = ['06', '11', '84'].map((protocol) => [
    `l4proto == ${protocol} ct original daddr . ${port} vmap @remembered`,
    `l4proto == ${protocol} ${port} vmap @remembered-node-ports`,
    `l4proto == ${protocol} return`,
  ])
  expect(chains['translated']).toEqual(rules.flat())
  const key = `ct original daddr . ${port} . ct reply saddr . ct reply protoSource`
  const counter = `update @connections { ${key} timeout 86400000ms counter }`
  expect(base({ countsTraffic: true })['translated']).toEqual(
    rules.flatMap((own) => [own[2]?.replace('return', counter), ...own]),
  )
})

test.each([4, 6] as const)('no rule of IPv%s uses a register that holds nothing', (family) => {
  const given = { dropMartians: true, localhostNodePorts: true, countsTraffic: true } as const
  expect(JSON.stringify(base(given, family))).not.toContain('nothing')
})

test('every packet of a translated connection is counted by where it was sent, when that is configured', () => {
  const chains = base({ countsTraffic: true })
  const jump = `${TRANSLATED} jump count`
  expect([chains['count-prerouting'], chains['count-output']]).toEqual([[jump], [jump]])
  const port = 'l4proto . ct original protoDestination'
  const rulesOf = (protocol: string) =>
    [
      ['00', 'in'],
      ['01', 'out'],
    ].flatMap(([direction, name]) => [
      `l4proto == ${protocol} ct direction == ${direction} ct original daddr . ${port} @traffic-${name} return`,
      `l4proto == ${protocol} ct direction == ${direction} ${port} @node-port-traffic-${name} return`,
    ])
  expect(chains['count']).toEqual(['06', '11', '84'].flatMap(rulesOf))
  expect(base()['count']).toBeUndefined()
})

test('what no Service has in a Service range is refused, where packets pass or leave the node', () => {
  const chains = base({ serviceRanges: [cidr('10.96.0.0/12')] })
  const refusal = `daddr @service-ranges ${NEW} ${NOT_TRANSLATED} fib daddr type != 02000000 goto rejected`
  expect(chains['filter-forward']?.at(-1)).toBe(refusal)
  expect(chains['filter-output']?.at(-1)).toBe(refusal)
  expect(chains['filter-input']).not.toContain(refusal)
  expect(base({ serviceRanges: [cidr('fd00:96::/108')] })).toEqual(base())
})
