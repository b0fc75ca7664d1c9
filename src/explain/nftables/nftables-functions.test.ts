import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import type { Branch } from '../packet/branch.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import { firstPacket, type PacketState } from '../packet/packet-state.ts'
import type { Json } from './model/json.ts'
import { parseRuleset } from './model/ruleset.ts'
import { nftablesFunctions } from './nftables-functions.ts'

const FACTS: HostFacts = {
  addressType: (ip) => (ip === '192.168.0.1' ? 'local' : 'unicast'),
  masqueradeAddress: (name) => (name === 'eth0' ? ('192.168.0.1' as IpAddress) : undefined),
  listens: () => undefined,
  forwards: () => true,
  routesLoopback: () => false,
  reversePathFilter: () => 0,
}

function packet(changes: Partial<PacketState> = {}): PacketState {
  const first = firstPacket({
    family: 4,
    protocol: 'TCP',
    src: '10.0.0.2' as IpAddress,
    srcPort: undefined,
    dst: '172.30.0.1' as IpAddress,
    dstPort: 80,
    inInterface: 'cbr0',
  })
  return { ...first, outInterface: 'eth0', ...changes }
}

interface Given {
  readonly family?: string
  readonly type?: string
  readonly policy?: string
  readonly sets?: readonly object[]
  /** Further chains, by name. */
  readonly chains?: Readonly<Record<string, readonly (readonly Json[])[]>>
  readonly packet?: PacketState
  readonly facts?: HostFacts
}

/** Runs rules of one base chain. */
function run(rules: readonly (readonly Json[])[], given: Given = {}): readonly Branch[] {
  const { family = 'ip', type = 'filter', policy = 'accept', sets = [], chains = {} } = given
  const at = { family, table: 't' }
  const all = { base: rules, ...chains }
  const objects = [
    { metainfo: { version: '1.0.6' } },
    { table: { family, name: 't' } },
    { chain: { ...at, name: 'base', type, hook: 'prerouting', prio: -100, policy } },
    ...Object.keys(chains).map((name) => ({ chain: { ...at, name } })),
    ...sets.map((set) => ({ set: { ...at, ...set } })),
    ...Object.entries(all).flatMap(([chain, list]) =>
      list.map((expr, index) => ({ rule: { ...at, chain, handle: index + 1, expr } })),
    ),
  ]
  const tables = parseRuleset(JSON.stringify({ nftables: objects }), '')
  const [found] = nftablesFunctions(tables, given.facts ?? FACTS)
  return found!.apply(given.packet ?? packet())
}

const match = (left: Json, right: Json, op = '=='): Json => ({ match: { op, left, right } })
const field = (protocol: string, name: string): Json => ({ payload: { protocol, field: name } })
const FLAGS = field('tcp', 'flags')
const masked = (...flags: readonly string[]): Json => ({ '&': [FLAGS, flags] })
const DROP: Json = { drop: null }
const verdicts = (branches: readonly Branch[]) => branches.map(({ verdict }) => verdict.kind)

describe('a rule that drops what it matches', () => {
  test.each<[string, Json, boolean]>([
    [
      'ip saddr 10.0.0.0/8',
      match(field('ip', 'saddr'), { prefix: { addr: '10.0.0.0', len: 8 } }),
      true,
    ],
    [
      'ip saddr 11.0.0.0/8',
      match(field('ip', 'saddr'), { prefix: { addr: '11.0.0.0', len: 8 } }),
      false,
    ],
    ['ip daddr a-b', match(field('ip', 'daddr'), { range: ['172.30.0.0', '172.30.0.9'] }), true],
    ['tcp flags syn', match(FLAGS, 'syn', 'in'), true],
    ['tcp flags ! syn', match(FLAGS, 'syn', '!'), false],
    ['tcp flags ! ack', match(FLAGS, 'ack', '!'), true],
    ['tcp flags syn / fin,syn,rst,ack', match(masked('fin', 'syn', 'rst', 'ack'), 'syn'), true],
    ['the same with !=', match(masked('fin', 'syn', 'rst', 'ack'), 'syn', '!='), false],
    ['tcp flags fin,syn / fin,syn', match(masked('fin', 'syn'), ['fin', 'syn']), false],
    ['tcp flags { syn | ack, syn }', match(FLAGS, { set: [{ '|': ['syn', 'ack'] }, 'syn'] }), true],
    ['ip daddr != itself', match(field('ip', 'daddr'), '172.30.0.1', '!='), false],
    ['ip6 daddr', match(field('ip6', 'daddr'), 'fd00::1', '!='), false],
    ['tcp dport 80', match(field('tcp', 'dport'), 80), true],
    [
      'tcp dport { 22, 80-90 }',
      match(field('tcp', 'dport'), { set: [22, { range: [80, 90] }] }),
      true,
    ],
    ['udp dport 80', match(field('udp', 'dport'), 80), false],
    ['th dport < 100', match(field('th', 'dport'), 100, '<'), true],
    ['th dport >= 81', match(field('th', 'dport'), 81, '>='), false],
    ['meta l4proto tcp', match({ meta: { key: 'l4proto' } }, 'tcp'), true],
    [
      'meta l4proto { udp, sctp }',
      match({ meta: { key: 'l4proto' } }, { set: ['udp', 'sctp'] }),
      false,
    ],
    ['meta l4proto vrrp', match({ meta: { key: 'l4proto' } }, 'vrrp'), false],
    ['meta pkttype host', match({ meta: { key: 'pkttype' } }, 'host'), true],
    [
      'ct state != established | new',
      match({ ct: { key: 'state' } }, { '|': ['established', 'new'] }, '!='),
      true,
    ],
    ['meta nfproto ipv4', match({ meta: { key: 'nfproto' } }, 'ipv4'), true],
    ['iifname "cbr*"', match({ meta: { key: 'iifname' } }, 'cbr*'), true],
    ['oifname != "lo"', match({ meta: { key: 'oifname' } }, 'lo', '!='), true],
    [
      'ct state new,established',
      match({ ct: { key: 'state' } }, ['new', 'established'], 'in'),
      true,
    ],
    ['ct state invalid', match({ ct: { key: 'state' } }, 'invalid', 'in'), false],
    ['ct status ! dnat', match({ ct: { key: 'status' } }, 'dnat', '!'), true],
    ['ct direction original', match({ ct: { key: 'direction' } }, 'original'), true],
    [
      'ct original ip daddr',
      match({ ct: { key: 'ip daddr', dir: 'original' } }, '172.30.0.1'),
      true,
    ],
    ['fib daddr type local', match({ fib: { result: 'type', flags: ['daddr'] } }, 'local'), false],
    [
      'fib saddr . iif type',
      match({ fib: { result: 'type', flags: ['saddr', 'iif'] } }, 'unicast'),
      true,
    ],
    ['meta mark & 0x10 != 0x10', match({ '&': [{ meta: { key: 'mark' } }, 16] }, 16, '!='), true],
    [
      'ip saddr . th dport { … }',
      match(
        { concat: [field('ip', 'saddr'), field('th', 'dport')] },
        { set: [{ concat: ['10.0.0.2', 80] }] },
      ),
      true,
    ],
    [
      'concat with a range',
      match(
        { concat: [field('ip', 'saddr'), field('th', 'dport')] },
        { set: [{ concat: [{ prefix: { addr: '10.0.0.0', len: 24 } }, { range: [1, 79] }] }] },
      ),
      false,
    ],
  ])('%s: %j', (_, statement, applies) => {
    expect(verdicts(run([[statement, DROP]]))).toEqual([applies ? 'drop' : 'accept'])
  })

  test('a named set, with elements that have timeouts', () => {
    const elem = [{ elem: { val: '10.0.0.2', timeout: 60, expires: 3 } }]
    const rule = [match(field('ip', 'saddr'), '@known'), DROP]
    expect(verdicts(run([rule], { sets: [{ name: 'known', elem }] }))).toEqual(['drop'])
    expect(verdicts(run([rule], { sets: [{ name: 'known', elem: [] }] }))).toEqual(['accept'])
  })
})

test('chance: each value of a generator is as likely as the others', () => {
  const random: Json = { numgen: { mode: 'random', mod: 4, offset: 0 } }
  const branches = run([[match(random, 1, '<'), DROP]])
  const drop = branches.find(({ verdict }) => verdict.kind === 'drop')
  expect(drop?.probability).toBe(0.25)
  expect(branches.reduce((sum, { probability }) => sum + probability, 0)).toBe(1)
})

describe('translation', () => {
  const endpoint = (index: number, port: number): Json => [index, { concat: ['10.1.0.1', port] }]
  const dnat = (elements: readonly Json[]): Json => ({
    dnat: {
      family: 'ip',
      addr: {
        map: {
          key: { numgen: { mode: 'random', mod: 3, offset: 0 } },
          data: { set: elements },
        },
      },
    },
  })

  test('to the elements of a map; equal ones add up', () => {
    const branches = run([[dnat([endpoint(0, 8080), endpoint(1, 8081), endpoint(2, 8080)])]], {
      type: 'nat',
    })
    const shares = branches.map(({ packet: { dst, dstPort }, probability }) => [
      dst,
      dstPort,
      probability,
    ])
    expect(shares).toEqual([
      ['10.1.0.1', 8080, expect.closeTo(1 / 3, 9)],
      ['10.1.0.1', 8081, expect.closeTo(1 / 3, 9)],
      ['10.1.0.1', 8080, expect.closeTo(1 / 3, 9)],
    ])
    expect(verdicts(branches)).toEqual(['accept', 'accept', 'accept'])
  })

  test('a key without an element: the next rule', () => {
    const branches = run([[dnat([endpoint(0, 8080)])], [DROP]], { type: 'nat' })
    expect(verdicts(branches).toSorted()).toEqual(['accept', 'drop'])
    const drop = branches.find(({ verdict }) => verdict.kind === 'drop')
    expect(drop?.probability).toBeCloseTo(2 / 3)
  })

  test('masquerade, snat, redirect', () => {
    expect(run([[{ masquerade: null }]])[0]?.packet.src).toBe('192.168.0.1')
    expect(run([[{ snat: { addr: '1.2.3.4' } }]])[0]?.packet.src).toBe('1.2.3.4')
    const redirected = run([[{ redirect: { port: 3128 } }]], {
      packet: packet({ inInterface: 'eth0' }),
    })
    expect(redirected[0]?.packet).toMatchObject({ dst: '192.168.0.1', dstPort: 3128 })
  })
})

describe('chains', () => {
  const jump = (name: string, verb = 'jump'): Json => ({ [verb]: { target: name } })
  test('jump returns to the next rule, goto to the caller, return leaves', () => {
    const chains = { sub: [[{ return: null }], [DROP]] }
    expect(verdicts(run([[jump('sub')], [DROP]], { chains }))).toEqual(['drop'])
    expect(verdicts(run([[jump('sub', 'goto')], [DROP]], { chains }))).toEqual(['accept'])
    expect(verdicts(run([[jump('sub', 'goto')]], { chains, policy: 'drop' }))).toEqual(['drop'])
  })

  test('verdict maps', () => {
    const vmap = (port: number): Json => ({
      vmap: {
        key: field('th', 'dport'),
        data: {
          set: [
            [port, jump('sub', 'goto')],
            [443, { drop: null }],
          ],
        },
      },
    })
    const chains = { sub: [[{ reject: { type: 'tcp reset' } }]] }
    expect(run([[vmap(80)]], { chains })[0]?.verdict).toEqual({ kind: 'reject', how: 'tcp-reset' })
    expect(verdicts(run([[vmap(81)]], { chains }))).toEqual(['accept'])
  })

  test('a chain that calls itself is not followed for ever', () => {
    const branches = run([[jump('sub')]], { chains: { sub: [[jump('sub')]] } })
    expect(branches[0]?.verdict).toMatchObject({ kind: 'uncertain' })
  })
})

test('reject is for the protocol and family of its answer', () => {
  const udp = packet({ protocol: 'UDP' })
  const rules: Json[][] = [
    [{ reject: { type: 'tcp reset' } }],
    [{ reject: { type: 'icmp', expr: 'host-unreachable' } }],
  ]
  expect(run(rules, { packet: udp })[0]?.verdict).toEqual({
    kind: 'reject',
    how: 'icmp-host-unreachable',
  })
  expect(verdicts(run([[{ reject: { type: 'icmpv6' } }]], { family: 'inet' }))).toEqual(['accept'])
})

test('marks of the packet and of the connection', () => {
  const set = (key: string, value: Json): Json => ({
    mangle: { key: { [key]: { key: 'mark' } }, value },
  })
  const rules: Json[][] = [
    [set('meta', { '|': [{ meta: { key: 'mark' } }, 4] })],
    [set('ct', { meta: { key: 'mark' } })],
  ]
  const [branch] = run(rules, { packet: packet({ mark: 1 }) })
  expect([branch?.packet.mark, branch?.packet.connection.mark]).toEqual([5, 5])
})

test('what a walk does not model may be set', () => {
  const set = (key: Json, value: Json): Json => ({ mangle: { key, value } })
  const size: Json = { 'tcp option': { name: 'maxseg', field: 'size' } }
  expect(verdicts(run([[set(size, { rt: { key: 'mtu' } })]]))).toEqual(['accept'])
  expect(verdicts(run([[set(field('ip', 'dscp'), 'cs1'), DROP]]))).toEqual(['drop'])
  expect(verdicts(run([[set(field('ip', 'daddr'), '10.0.0.9')]]))).toEqual(['uncertain'])
})

test('a packet to a group is multicast', () => {
  const facts: HostFacts = { ...FACTS, addressType: () => 'multicast' }
  const rule = [match({ meta: { key: 'pkttype' } }, 'multicast'), DROP]
  expect(verdicts(run([rule], { facts }))).toEqual(['drop'])
})

test('an update of a set makes later look-ups of the packet unknown', () => {
  const sets = [{ name: 'known', elem: [] }]
  const lookup = [match(field('ip', 'saddr'), '@known'), DROP]
  const update = ['update @known { ip saddr timeout 3h : ip daddr . th dport }']
  expect(verdicts(run([lookup, update], { sets }))).toEqual(['accept'])
  expect(run([update, lookup], { sets })[0]?.verdict).toMatchObject({ kind: 'uncertain' })
})

test.each<[string, Json]>([
  ['limit', { limit: { rate: 5, per: 'second' } }],
  ['an unknown field', match(field('ip', 'dscp'), 'cs1')],
  ['an ephemeral port', match(field('tcp', 'sport'), 1024)],
  ['meta skuid', match({ meta: { key: 'skuid' } }, 0)],
  ['a set that is not listed', match(field('ip', 'saddr'), '@none')],
  ['a statement of a later version', { synthesise: null }],
  ['ct status & dnat', match({ '&': [{ ct: { key: 'status' } }, 'dnat'] }, 'dnat')],
  ['a mark by a name', { mangle: { key: { meta: { key: 'mark' } }, value: 'name' } }],
  ['a limit of each element', { set: { op: 'add', set: '@m', stmt: [{ limit: { inv: true } }] } }],
  ['a limit in text', 'update @m { ip saddr limit rate over 5/minute : ip daddr }'],
  ['rules of iptables', { xt: { type: 'match', name: 'bpf' } }],
])('%s is not known, and names the rule', (_, statement) => {
  const [branch] = run([[statement, DROP]])
  expect(branch?.verdict).toMatchObject({
    kind: 'uncertain',
    reason: expect.stringContaining('nft ip t base: rule of handle 1: '),
  })
})

describe('a limit', () => {
  const over: Json = { limit: { rate: 5, burst: 5, per: 'second', inv: true } }
  const log: Json = { log: { prefix: 'x', group: 1 } }
  const jump: Json = { jump: { target: 'limit' } }

  test('that only decides what is logged of dropped packets changes nothing', () => {
    const [branch, ...others] = run([[jump], [log, DROP]], { chains: { limit: [[over, DROP]] } })
    expect(others).toEqual([])
    expect(branch).toMatchObject({ probability: 1, verdict: { kind: 'drop' } })
    expect(branch?.steps.at(-1)?.object).toBe('rule of handle 2')
    expect(verdicts(run([[over, log]]))).toEqual(['accept'])
  })

  test('that decides whether packets pass is not known', () => {
    const reason = expect.stringContaining('the statement limit')
    for (const rules of [[[over, DROP]], [[jump]]]) {
      const [branch] = run(rules, { chains: { limit: [[over, DROP]] } })
      expect(branch?.verdict).toMatchObject({ kind: 'uncertain', reason })
    }
  })

  test('beside another one is not known: one may be exceeded and the other not', () => {
    const within: Json = { limit: { rate: 5, per: 'second' } }
    const rules: Json[][] = [[over, { accept: null }], [within, { accept: null }], [DROP]]
    expect(verdicts(run(rules))).toEqual(['uncertain'])
  })
})

test('control characters of a rule are not shown', () => {
  const base = { family: 'ip', table: 't', name: 'c', type: 'filter', hook: 'prerouting', prio: 0 }
  const rule = { family: 'ip', table: 't', chain: 'c', handle: 2, expr: [DROP] }
  const nftables = [{ table: { family: 'ip', name: 't' } }, { chain: base }, { rule }]
  const text = 'table ip t {\n\tchain c {\n\t\tdrop comment "a\u001b[2J" # handle 2\n\t}\n}\n'
  const [found] = nftablesFunctions(parseRuleset(JSON.stringify({ nftables }), text), FACTS)
  expect(found?.apply(packet())[0]?.steps.at(-1)?.object).toBe('drop comment "a?[2J"')
})

test('chains of iptables and of bridges are left out; a chain of both families sees both', () => {
  const chain = { type: 'filter', hook: 'input', prio: 0, policy: 'accept' }
  const of = (family: string, table: string, name = 'c') => [
    { table: { family, name: table } },
    { chain: { family, table, name, ...chain } },
  ]
  const nftables = [
    ...of('ip', 'filter', 'INPUT'),
    ...of('ip6', 'filter'),
    ...of('bridge', 'x'),
    ...of('inet', 'filter'),
  ]
  const tables = parseRuleset(JSON.stringify({ nftables }), '')
  expect(nftablesFunctions(tables, FACTS)).toMatchObject([
    { source: 'nft ip6 filter c', families: [6], hook: 'input' },
    { source: 'nft inet filter c', families: [4, 6], hook: 'input' },
  ])
})

describe('how long an element decides', () => {
  const elem = (val: string) => ({ elem: { val, timeout: 10_800, expires: 9000 } })
  const left = (statement: Json, set: object) =>
    run([[statement, DROP]], { sets: [{ name: 's', ...set }] })[0]?.steps.at(-1)?.secondsLeft

  test('of a set with timeouts, and none of another one', () => {
    const isIn = match(field('ip', 'saddr'), '@s')
    expect(left(isIn, { flags: ['timeout'], elem: [elem('10.0.0.2')] })).toBe(9000)
    expect(left(isIn, { elem: ['10.0.0.2'] })).toBeUndefined()
  })

  test('of a map by which the destination is replaced', () => {
    const to: Json = { dnat: { addr: { map: { key: field('ip', 'saddr'), data: '@s' } } } }
    const others = [elem('10.0.0.3'), '10.180.0.2']
    const set = { timeout: 10_800, elem: [others, [elem('10.0.0.2'), '10.180.0.1']] }
    const [branch] = run([[to]], { type: 'nat', sets: [{ name: 's', ...set }] })
    expect(branch?.packet.dst).toBe('10.180.0.1')
    expect(branch?.steps.at(-1)?.secondsLeft).toBe(9000)
  })
})
