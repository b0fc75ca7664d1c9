import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { NodeProxyError } from '../../../lib/error.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { TouchedObject } from '../object-collector.ts'
import type { Element } from '../objects.ts'
import type { RuleChange } from '../rule-monitor.ts'
import {
  ADDRESSES,
  add,
  bytes,
  chain,
  dropChain,
  MAP,
  RANGES,
  remove,
  rule,
  set,
  TABLE,
  table,
} from './conformance/commands.ts'
import { FakeNamespace } from './fake-namespace.ts'
import { FakeNftables } from './fake-nftables.ts'
import { FakeObjectMonitor } from './fake-object-monitor.ts'

const { EINVAL, ENOENT, ENOMEM, EPERM } = constants.errno
const ONE = { key: bytes(10, 0, 0, 1) }
const TWO = { key: bytes(10, 0, 0, 2) }

function opened() {
  const clock = new FakeClock()
  const namespace = new FakeNamespace(clock)
  return { clock, namespace, nftables: new FakeNftables(namespace) }
}

async function elementsOf(nftables: FakeNftables, name: string): Promise<readonly Element[]> {
  const found: Element[] = []
  await nftables.elements(TABLE, name, (element) => found.push(element))
  return found
}

test('a refused transaction leaves everything as it was', async () => {
  const { namespace, nftables } = opened()
  await nftables.commit([table, chain('a'), set('s', ADDRESSES), add('s', ONE)])
  const before = namespace.dump()
  const error = await nftables.commit([
    remove('s', ONE),
    add('s', TWO),
    chain('b'),
    rule('a', { type: 'counter' }),
    dropChain('b'),
    set('t', MAP),
    { do: 'deleteTable', table: TABLE } as const,
    chain('c'),
  ])
  expect(error).toMatchObject({ command: 7, errno: ENOENT })
  expect(namespace.dump()).toEqual(before)
  expect(nftables.commits).toBe(1)
})

test('a transaction that changes nothing makes no new generation', async () => {
  const { nftables } = opened()
  await nftables.commit([table, set('s', ADDRESSES)])
  const before = await nftables.generation()
  await nftables.commit([table])
  expect(await nftables.generation()).toBe(before)
  expect(await nftables.commit([add('s', ONE)], before)).toBeUndefined()
  expect(await nftables.generation()).toBe(before + 1)
})

test('what was written is read', async () => {
  const { nftables } = opened()
  await nftables.commit([
    table,
    chain('a'),
    rule('a', { type: 'counter' }),
    set('r', RANGES),
    set('m', MAP),
    add('r', { key: bytes(10, 0, 0, 0), keyEnd: bytes(10, 0, 0, 9) }),
    add('m', { ...ONE, data: TWO.key, comment: 'shop/cart' }, { ...TWO, data: TWO.key }),
  ])
  const content = await nftables.read(TABLE)
  expect([...(content?.chains ?? [])]).toEqual([
    ['a', { spec: {}, rules: [{ expressions: [{ type: 'counter' }] }] }],
  ])
  expect([...(content?.sets ?? [])]).toEqual([
    ['r', RANGES],
    ['m', MAP],
  ])
  expect(await elementsOf(nftables, 'r')).toEqual([
    { key: bytes(10, 0, 0, 0), keyEnd: bytes(10, 0, 0, 9) },
  ])
  expect(await nftables.lookup(TABLE, 'm', [ONE.key, bytes(1, 1, 1, 1), TWO.key])).toEqual([
    { ...ONE, data: TWO.key, comment: 'shop/cart' },
  ])
  expect(await nftables.read({ family: 6, name: TABLE.name })).toBeUndefined()
  expect(await elementsOf(nftables, 'missing')).toEqual([])
})

test('an element goes when its time is over', async () => {
  const { clock, nftables } = opened()
  const timed = { ...ADDRESSES, hasTimeouts: true } as const
  await nftables.commit([table, set('s', timed), add('s', { ...ONE, timeout: 5_000 })])
  clock.elapse(3_000)
  expect(await elementsOf(nftables, 's')).toEqual([{ ...ONE, timeout: 5_000, expires: 2_000 }])
  clock.elapse(2_000)
  expect(await elementsOf(nftables, 's')).toEqual([])
  expect(await nftables.commit([remove('s', ONE)])).toMatchObject({ errno: ENOENT })
})

test('a packet renews an element and keeps its data', async () => {
  const { clock, namespace, nftables } = opened()
  const clients = { ...MAP, isDynamic: true, hasTimeouts: true } as const
  await nftables.commit([table, set('m', clients)])
  namespace.update(TABLE, 'm', { ...ONE, data: ONE.key, timeout: 5_000 })
  clock.elapse(3_000)
  namespace.update(TABLE, 'm', { ...ONE, data: TWO.key, timeout: 5_000 })
  expect(await elementsOf(nftables, 'm')).toEqual([
    { ...ONE, data: ONE.key, timeout: 5_000, expires: 5_000 },
  ])
})

test('sockets share the tables, and each takes those that it owns with it', async () => {
  const { namespace, nftables } = opened()
  const other = new FakeNftables(namespace)
  await nftables.commit([{ do: 'addTable', table: TABLE, spec: { isOwned: true } }])
  expect(await other.read(TABLE)).toBeDefined()
  expect(namespace.alter({ do: 'flushRuleset' })).toBeUndefined()
  other.close()
  expect(await nftables.read(TABLE)).toBeDefined()
  nftables.close()
  expect(namespace.dump()).toEqual([])
  await expect(nftables.read(TABLE)).rejects.toThrow('closed')
})

test('a transaction may fail as a test says', async () => {
  const { namespace, nftables } = opened()
  nftables.failNext({ kind: 'refused', errno: EPERM, command: 0 })
  nftables.failNext({ kind: 'refused', errno: ENOMEM })
  expect(await nftables.commit([table])).toMatchObject({ command: 0, errno: EPERM })
  expect(await nftables.commit([table])).toMatchObject({ command: undefined, errno: ENOMEM })
  nftables.failNext({ kind: 'lost' })
  await expect(nftables.commit([table])).rejects.toThrow(NodeProxyError)
  expect(namespace.dump()).toEqual([])
  nftables.failNext({ kind: 'lost', applied: true })
  await expect(nftables.commit([table])).rejects.toThrow(NodeProxyError)
  expect(namespace.dump()).toEqual(['4 conformance'])
  expect(nftables.commits).toBe(0)
})

test('commands may be refused for a while, with or without their index', async () => {
  const { nftables } = opened()
  const end = nftables.refuse(EINVAL, (command) => command.do === 'addChain')
  expect(await nftables.commit([table, chain('a')])).toMatchObject({ command: 1, errno: EINVAL })
  end()
  nftables.refuse(EINVAL, (command) => command.do === 'addChain', false)
  expect(await nftables.commit([table, chain('a')])).toMatchObject({ command: undefined })
})

test('nothing is answered during a silence', async () => {
  const { nftables } = opened()
  nftables.silence = new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
  await expect(nftables.commit([table])).rejects.toThrow('no answer')
  await expect(nftables.generation()).rejects.toThrow('no answer')
})

function heard() {
  const { namespace, nftables } = opened()
  const monitor = new FakeObjectMonitor(namespace, {
    table: TABLE.name,
    exceptPort: nftables.port,
  })
  const changes: RuleChange<TouchedObject>[] = []
  const stop = monitor.start((change) => changes.push(change))
  const touched = () => changes.splice(0).map((change) => change.touched)
  return { namespace, nftables, monitor, stop, touched }
}

const ELEMENT = { table: TABLE, kind: 'element', set: 's' } as const

test('the monitor reports what other programs change in the table, and nothing else', async () => {
  const { namespace, nftables, stop, touched } = heard()
  await nftables.commit([table, set('s', ADDRESSES), add('s', ONE, TWO), chain('a')])
  namespace.alter({ do: 'addTable', table: { family: 4, name: 'other' } })
  namespace.alter(dropChain('missing'))
  expect(touched()).toEqual([])
  namespace.alter({ do: 'flushSet', table: TABLE, set: 's' })
  namespace.alter(rule('a', { type: 'counter' }))
  namespace.alter({ do: 'flushTable', table: TABLE })
  namespace.alter({ do: 'flushRuleset' })
  expect(touched()).toEqual([
    [
      { ...ELEMENT, element: ONE },
      { ...ELEMENT, element: TWO },
    ],
    [{ table: TABLE, kind: 'chain', name: 'a' }],
    [{ table: TABLE, kind: 'chain', name: 'a' }],
    [{ table: TABLE, kind: 'table' }],
  ])
  stop()
  namespace.alter(table)
  expect(touched()).toEqual([])
})

test('what happens during a hold is reported behind it', async () => {
  const { namespace, monitor, touched } = heard()
  const release = monitor.hold()
  namespace.alter(table)
  expect(touched()).toEqual([])
  release({ authors: [], commits: 0 })
  expect(touched()).toEqual([[{ table: TABLE, kind: 'table' }]])
})

test('what was not heard shows in the generation', async () => {
  const { namespace, nftables, monitor, touched } = heard()
  for (const isForeign of [false, true]) {
    const release = monitor.hold({ unsubscribed: true })
    await nftables.commit([table, chain(`of-${isForeign}`)])
    if (isForeign) namespace.alter(chain('foreign'))
    release({ authors: [], commits: 1 })
    expect(touched()).toEqual(isForeign ? ['unknown'] : [])
  }
  monitor.hold({ unsubscribed: true })({ authors: [], commits: undefined })
  expect(touched()).toEqual(['unknown'])
})
