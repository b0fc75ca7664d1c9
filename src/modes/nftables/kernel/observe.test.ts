import { expect, test } from 'vitest'
import { fakeNftablesNode } from '../../../../test/support/modes/fake-nftables-node.ts'
import type { EntryId } from '../../../forwarding/entry.ts'
import { digestOf } from '../../../kernel/nftables/rules/digest.ts'
import { frontendAddress } from '../../../kernel/nftables/rules/encode.ts'
import type { ObjectKey } from '../../mode.ts'
import { entry, frontend, ip } from '../../testing/mode-fixtures.ts'
import { clientNames, SET, tableOf } from '../keys/names.ts'
import { keyOf } from '../keys/object-key.ts'

const ONLY_4 = { settings: { families: [4] } } as const
const table = tableOf(4)
const keyOfService = (number: number) => keyOf(4, 'frontend', `172.30.0.${number}:80/TCP`)
const service = (number: number) =>
  entry({
    id: `shop/s${number}` as EntryId,
    frontends: [frontend({ ip: ip(`172.30.0.${number}`) })],
  })

async function started(count = 2) {
  const node = fakeNftablesNode(ONLY_4)
  await node.sync(...Array.from({ length: count }, (_, number) => service(number)))
  node.nftables.reads.length = 0
  return node
}

/** A mode that knows only what it reads, over the same kernel. */
function newcomer({ namespace }: Awaited<ReturnType<typeof started>>) {
  return fakeNftablesNode({ ...ONLY_4, namespace })
}

test('what was written is read with the digests that are wanted', async () => {
  const { mode } = await started()
  const seen = await mode.observe()
  const wanted = new Map(
    [...mode.program.wantedKeys()].map((key) => [key, mode.program.digestOf(key)]),
  )
  expect(seen).toEqual(wanted)
})

test('without tables there is nothing', async () => {
  expect([...(await fakeNftablesNode().mode.observe())]).toEqual([])
})

test('a few frontends are looked up, and no map is read whole', async () => {
  const { mode, nftables } = await started()
  const seen = await mode.observe([keyOfService(1)])
  expect([...seen]).toEqual([[keyOfService(1), mode.program.digestOf(keyOfService(1))]])
  expect(nftables.reads.filter((read) => !read.startsWith('lookup'))).toEqual([])
})

test('of more than 64 frontends the maps are read, and the others left out', async () => {
  const { mode, nftables } = await started(66)
  const keys = Array.from({ length: 65 }, (_, number) => keyOfService(number))
  expect([...(await mode.observe(keys)).keys()].toSorted()).toEqual(keys.toSorted())
  expect(nftables.reads).toContain(SET.endpoints)
  expect(nftables.reads.some((read) => read.startsWith('lookup'))).toBe(false)
})

test('so it is where a frontend is not known', async () => {
  const node = await started()
  const { mode, nftables } = newcomer(node)
  await mode.observe()
  nftables.reads.length = 0
  const seen = await mode.observe([keyOfService(1)])
  expect([...seen]).toEqual([[keyOfService(1), node.mode.program.digestOf(keyOfService(1))]])
  expect(nftables.reads).toContain(SET.endpoints)
})

test('elements that another program added to a frontend are seen by themselves', async () => {
  const { mode, namespace } = await started()
  const key = frontendAddress(ip('172.30.0.9'), 'TCP', 80)
  const element = { key, data: { kind: 'drop' } } as const
  namespace.alter({ do: 'addElements', table, set: SET.services, elements: [element] })
  const seen = await mode.observe([keyOfService(9)])
  expect([...seen]).toEqual([[keyOfService(9), digestOf([{ set: SET.services, element }])]])
})

test('an element that is missing between others is missing in the digest', async () => {
  const { mode, namespace } = await started()
  const key = Buffer.concat([frontendAddress(ip('172.30.0.1'), 'TCP', 80), Buffer.alloc(4)])
  namespace.alter({ do: 'deleteElements', table, set: SET.endpoints, elements: [{ key }] })
  const seen = await mode.observe([keyOfService(1)])
  expect(seen.has(keyOfService(1))).toBe(true)
  expect(seen.get(keyOfService(1))).not.toBe(mode.program.digestOf(keyOfService(1)))
  expect((await mode.observe()).get(keyOfService(1))).toBe(seen.get(keyOfService(1)))
})

test.each<[ObjectKey, string]>([
  [keyOf(4, 'chain', 'foreign'), 'a chain'],
  [keyOf(4, 'set', 'foreign'), 'a set'],
])('%s is seen: %s of another program', async (key) => {
  const { mode, namespace } = await started()
  namespace.alter(
    { do: 'addChain', table, chain: 'foreign' },
    { do: 'addSet', table, set: 'foreign', spec: { key: ['mark'] } },
  )
  expect([...(await mode.observe([key])).keys()]).toEqual([key])
  expect((await mode.observe()).has(key)).toBe(true)
})

test('of chains and sets only the requested sets are read', async () => {
  const { mode, nftables } = await started()
  const keys = [keyOf(4, 'chain', 'dispatch'), keyOf(4, 'set', SET.sameByte)]
  const seen = await mode.observe(keys)
  expect([...seen]).toEqual(keys.map((key) => [key, mode.program.digestOf(key)]))
  expect(nftables.reads).toEqual([SET.sameByte])
})

test('clients that packets added are no difference', async () => {
  const node = fakeNftablesNode(ONLY_4)
  const sticky = { ...service(1), affinity: { seconds: 60 } }
  await node.sync(sticky)
  const map = clientNames(sticky.id).clients('cluster')
  node.namespace.update(table, map, { key: Buffer.alloc(4), data: Buffer.alloc(8), timeout: 9 })
  expect(await node.look()).toEqual([])
  expect(node.nftables.reads).not.toContain(map)
})
