import { expect, test } from 'vitest'
import { fakeNftablesNode, stateOf } from '../../../test/support/modes/fake-nftables-node.ts'
import type { EntryId } from '../../forwarding/entry.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { entry, frontend, ip } from '../testing/mode-fixtures.ts'
import { tableOf } from './keys/names.ts'
import { keyOf } from './keys/object-key.ts'

const ONLY_4 = { settings: { families: [4] } } as const
const table = tableOf(4)
const services = (count: number) =>
  Array.from({ length: count }, (_, number) =>
    entry({
      id: `shop/s${number}` as EntryId,
      frontends: [frontend({ ip: ip(`172.30.${number >> 8}.${number & 255}`) })],
    }),
  )

test('the probe finds nothing missing, and leaves nothing behind', async () => {
  const { mode, namespace } = fakeNftablesNode()
  expect((await mode.probe()).missing).toEqual([])
  expect(namespace.dump()).toEqual([])
})

test('a foreign change is reported with the objects, and repaired', async () => {
  const { namespace, reported, repair, sync } = fakeNftablesNode(ONLY_4)
  await sync(...services(2))
  const before = stateOf(namespace)
  expect(reported).toEqual([])
  namespace.alter({ do: 'flushChain', table, chain: 'dispatch' })
  namespace.alter({ do: 'addChain', table, chain: 'foreign' })
  expect(reported).toEqual([
    { keys: [keyOf(4, 'chain', 'dispatch')], by: 'nft (pid 7)' },
    { keys: [keyOf(4, 'chain', 'foreign')], by: 'nft (pid 7)' },
  ])
  expect((await repair())?.failed.size).toBe(0)
  expect(stateOf(namespace)).toEqual(before)
})

test.each([50, 150])('what changes while %i Services are written is noticed', async (count) => {
  const { namespace, nftables, reported, repair, sync } = fakeNftablesNode(ONLY_4)
  await sync()
  nftables.meanwhile(() => namespace.alter({ do: 'flushChain', table, chain: 'dispatch' }))
  await sync(...services(count))
  expect(reported.map(({ keys }) => keys)).toEqual([
    count === 50 ? [keyOf(4, 'chain', 'dispatch')] : 'all',
  ])
  await repair()
  const fresh = fakeNftablesNode(ONLY_4)
  await fresh.sync(...services(count))
  expect(stateOf(namespace)).toEqual(stateOf(fresh.namespace))
})

test('a large change of its own is not reported', async () => {
  const { reported, sync } = fakeNftablesNode(ONLY_4)
  await sync(...services(150))
  expect(reported).toEqual([])
})

test('after a lost answer the kernel is read before it is written', async () => {
  const { namespace, nftables, look, sync, write } = fakeNftablesNode(ONLY_4)
  await sync()
  nftables.failNext({ kind: 'lost', applied: true })
  await expect(sync(...services(2))).rejects.toThrow(NodeProxyError)
  await look()
  expect((await write()).failed.size).toBe(0)
  const fresh = fakeNftablesNode(ONLY_4)
  await fresh.sync(...services(2))
  expect(stateOf(namespace)).toEqual(stateOf(fresh.namespace))
})

test('a daemon that finds everything as it should be guards translation nonetheless', async () => {
  const before = fakeNftablesNode(ONLY_4)
  await before.sync(...services(1))
  before.stop()
  const { namespace } = before
  expect(namespace.dump().join()).not.toContain('node-proxy-guard')
  const { mode } = fakeNftablesNode({ ...ONLY_4, namespace })
  await mode.observe()
  expect(namespace.dump().join()).toContain('node-proxy-guard')
})
