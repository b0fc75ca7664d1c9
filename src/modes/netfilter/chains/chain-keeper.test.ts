import { expect, test } from 'vitest'
import { FakeIptables } from '../../../kernel/iptables/testing/fake-iptables.ts'
import { FakeMonitor } from '../../../kernel/testing/fake-monitor.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { ForeignChange, ObjectKey } from '../../mode.ts'
import { ChainKeeper } from './chain-keeper.ts'
import { digestBehind, digestCount, digestRules, objectOf, type Table } from './object.ts'

const CHAINS: readonly string[] = ['mangle/X-ROUTE', 'nat/X-POST', 'filter/X-FORWARD']
const JUMPS: readonly string[] = [
  'mangle/PREROUTING>-j X-ROUTE',
  'nat/POSTROUTING>-j X-POST',
  'filter/FORWARD>-j X-FORWARD',
]

/** What a mode with a chain in each table wants, in both families. */
function keysOf(prefix: string): readonly ObjectKey[] {
  return [4, 6].flatMap((family) =>
    [...CHAINS, ...JUMPS].map((text) => `${family}/${text.replace('X-', prefix)}` as ObjectKey),
  )
}

function setUp(overrides: { iptables?: FakeIptables; prefix?: string; rule?: string } = {}) {
  const { iptables = new FakeIptables(), prefix = 'NPVS-', rule = '-p tcp -j RETURN' } = overrides
  const keys = keysOf(prefix)
  const jumps = keys.filter((key) => key.includes('>'))
  const monitor = new FakeMonitor()
  const tables: readonly Table[] = ['mangle', 'nat', 'filter']
  const contents = {
    rulesOf: (key: ObjectKey) => (keys.includes(key) ? [rule] : undefined),
    jumpsIn: ({ family, table, chain }: { family: number; table: string; chain: string }) =>
      jumps.filter((key) => key.startsWith(`${family}/${table}/${chain}>`)),
  }
  const options = { iptables, monitor, prefix, tables, families: [4, 6] as const, contents }
  const wanted = new Map(
    keys.map((key) => [key, jumps.includes(key) ? digestCount(1) : digestRules([rule])]),
  )
  return { iptables, monitor, keys, jumps, wanted, options, keeper: new ChainKeeper(options) }
}

test('what is written is what a fresh keeper observes, in all three tables', async () => {
  const { keeper, keys, wanted, options, iptables } = setUp()
  const { failed, left, uncertain } = await keeper.apply({ set: keys, unset: [] })
  expect([failed.size, left?.size, uncertain]).toEqual([0, 0, false])
  expect(await new ChainKeeper(options).observe()).toEqual(wanted)
  const some = keys.slice(0, 4)
  expect([...(await keeper.observe(some)).keys()].toSorted()).toEqual(some.toSorted())
  expect(iptables.texts.map((text) => text.match(/^\*\w+/gm))).toEqual([
    ['*mangle', '*nat', '*filter'],
    ['*mangle', '*nat', '*filter'],
  ])
})

test('written again, a jump still stands once, and first', async () => {
  const { keeper, keys, jumps, iptables } = setUp()
  await keeper.apply({ set: keys, unset: [] })
  iptables.alter(4, '*mangle\n-I PREROUTING 1 -j ACCEPT\n-A PREROUTING -j NPVS-ROUTE\nCOMMIT\n')
  const jump = jumps[0]!
  expect(await keeper.observe([jump])).toEqual(new Map([[jump, digestCount(2)]]))
  await keeper.apply({ set: [jump], unset: [] })
  expect(await iptables.listChain(4, 'mangle', 'PREROUTING')).toEqual([
    '-j NPVS-ROUTE',
    '-j ACCEPT',
  ])
})

const PORTALS = '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES'

/** A kernel in which another Service proxy has put its jumps before ours. */
async function overtaken(foreign: string) {
  const rig = setUp()
  await rig.keeper.apply({ set: rig.keys, unset: [] })
  const chains = ':KUBE-SERVICES - [0:0]\n:KUBE-FIREWALL - [0:0]\n'
  rig.iptables.alter(4, `*nat\n${chains}-I POSTROUTING 1 ${foreign}\nCOMMIT\n`)
  const jump = rig.jumps.find((key) => key.startsWith('4/nat/'))!
  return { ...rig, jump, rules: () => rig.iptables.listChain(4, 'nat', 'POSTROUTING') }
}

test('a fresh keeper moves its jumps before those of another Service proxy', async () => {
  const { options, wanted, jump, rules } = await overtaken(PORTALS)
  const fresh = new ChainKeeper(options)
  expect(await fresh.observe()).toEqual(new Map(wanted).set(jump, digestBehind(1)))
  expect((await fresh.apply({ set: [jump], unset: [] })).failed).toEqual(new Map())
  expect(await rules()).toEqual(['-j NPVS-POST', PORTALS])
})

test('a jump of another Service proxy that comes later stays before ours', async () => {
  const { keeper, wanted, options, iptables, rules } = await overtaken('-j KUBE-FIREWALL')
  expect(await keeper.observe()).toEqual(wanted)
  iptables.alter(4, `*nat\n-I POSTROUTING 1 ${PORTALS}\nCOMMIT\n`)
  expect(await keeper.observe()).toEqual(wanted)
  expect(await rules()).toEqual([PORTALS, '-j KUBE-FIREWALL', '-j NPVS-POST'])
  await new ChainKeeper(options).removeAll()
  expect(await rules()).toEqual([PORTALS, '-j KUBE-FIREWALL'])
})

test('two modes in one kernel see, write and remove only their own', async () => {
  const iptables = new FakeIptables()
  for (const table of ['mangle', 'nat', 'filter'] as const)
    for (const family of [4, 6] as const) await iptables.save(family, table)
  const empty = iptables.dump()
  const one = setUp({ iptables })
  await one.keeper.apply({ set: one.keys, unset: [] })
  const alone = iptables.dump()
  const other = setUp({ iptables, prefix: 'NPROXY-', rule: '-j ACCEPT' })
  await other.keeper.apply({ set: other.keys, unset: [] })
  expect(await one.keeper.observe()).toEqual(one.wanted)
  expect(await other.keeper.observe()).toEqual(other.wanted)
  await other.keeper.removeAll()
  expect(iptables.dump()).toBe(alone)
  await one.keeper.removeAll()
  expect(iptables.dump()).toBe(empty)
})

test('what cannot be removed is reported with its error code', async () => {
  const { keeper, keys, iptables } = setUp()
  await keeper.apply({ set: keys, unset: [] })
  iptables.alter(4, '*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j NPVS-POST\nCOMMIT\n')
  const refused = await keeper.removeAll().catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(NodeProxyError)
  expect(refused).toMatchObject({ code: 'NP_IPTABLES_REFUSED', object: '4/nat/NPVS-POST' })
  expect(await iptables.listChain(4, 'nat', 'NPVS-POST')).toEqual([])
})

test('one refused chain harms no other', async () => {
  const { keeper, keys, iptables } = setUp()
  iptables.refuse(/^-A NPVS-POST/)
  const { failed, left } = await keeper.apply({ set: keys, unset: [] })
  const bad = ['4/nat/NPVS-POST', '6/nat/NPVS-POST']
  expect([...failed.keys()]).toEqual(bad)
  expect([...(left?.keys() ?? [])]).toEqual(bad)
  const seen = await keeper.observe()
  expect([...seen.keys()].toSorted()).toEqual(keys.toSorted())
  expect(seen.get(bad[0] as ObjectKey)).toBe(digestRules([]))
})

test('nothing to do starts no program and delays no caller', async () => {
  const { keeper, iptables, monitor } = setUp()
  await keeper.apply({ set: [], unset: [] })
  expect([iptables.texts, monitor.holds]).toEqual([[], []])
})

test('the monitor learns how many commits were ours, refused ones left out', async () => {
  const { keeper, keys, iptables, monitor } = setUp()
  const family4 = keys.filter((key) => objectOf(key).family === 4)
  iptables.refuse(/^-A NPVS-FORWARD/)
  iptables.refuse(/^-I FORWARD/)
  await keeper.apply({ set: family4, unset: [] })
  expect(monitor.holds).toEqual([{ unsubscribed: false, own: { authors: [1, 1, 1], commits: 3 } }])
})

test('a program that dies leaves an unknown number of commits', async () => {
  const { keys, monitor, options } = setUp()
  const iptables = new FakeIptables()
  iptables.restore = () => Promise.reject(new Error('no process'))
  const keeper = new ChainKeeper({ ...options, iptables })
  await expect(keeper.apply({ set: keys, unset: [] })).rejects.toThrow('no process')
  expect(monitor.holds).toEqual([{ unsubscribed: false, own: { authors: [], commits: undefined } }])
})

test('changes by other processes to our chains and jumps are reported, with the process', () => {
  const { keeper, monitor } = setUp()
  const changes: ForeignChange[] = []
  const stop = keeper.watch((change) => changes.push(change))
  const at = (table: string, chain: string) => ({ family: 4, table, chain }) as const
  monitor.change({ touched: [at('mangle', 'NPVS-ROUTE'), at('mangle', 'PREROUTING')] })
  monitor.change({ touched: [at('nat', 'NPROXY-SERVICES'), at('nat', 'PREROUTING')] })
  monitor.change({ by: { pid: 7, process: 'nft' } })
  stop()
  monitor.change({})
  expect(changes).toEqual([
    { keys: ['4/mangle/NPVS-ROUTE', '4/mangle/PREROUTING>-j NPVS-ROUTE'], by: 'another program' },
    { keys: 'all', by: 'nft (pid 7)' },
  ])
})

test('many objects are read with their tables, and only those requested are returned', async () => {
  const { keeper, keys, iptables } = setUp()
  await keeper.apply({ set: keys, unset: [] })
  iptables.listChain = () => Promise.reject(new Error('not to be called'))
  const gone = Array.from({ length: 20 }, (_, n) => `4/nat/NPVS-${n}` as ObjectKey)
  expect([...(await keeper.observe([...gone, keys[0]!])).keys()]).toEqual([keys[0]])
})

test('a large change is cut by rank, and the monitor does not listen meanwhile', async () => {
  const { iptables, monitor, options } = setUp()
  const leaves = Array.from({ length: 500 }, (_, n) => `NPVS-Z${n}`)
  const contents = {
    rulesOf: (key: ObjectKey) => (key.endsWith('NPVS-A') ? leaves.map((leaf) => `-j ${leaf}`) : []),
    jumpsIn: () => [],
    rankOf: (chain: string) => (chain === 'NPVS-A' ? 1 : 0),
  }
  const keeper = new ChainKeeper({ ...options, contents })
  const set = ['NPVS-A', ...leaves].map((chain) => `4/nat/${chain}` as ObjectKey)
  expect((await keeper.apply({ set, unset: [] })).failed).toEqual(new Map())
  expect(iptables.texts[0]?.split('COMMIT\n')[1]).toMatch(/^\*nat\n:NPVS-A /)
  expect(monitor.holds).toEqual([{ unsubscribed: true, own: { authors: [1], commits: 2 } }])
})
