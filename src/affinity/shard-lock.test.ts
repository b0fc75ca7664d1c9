import { expect, test } from 'vitest'
import { createAffinityMemory, openColumns } from './affinity-memory.ts'
import { AffinityTable, acquire, LOST, release } from './affinity-table.ts'
import { SHARD } from './layout.ts'
import { client, NO_CHANCE } from './testing/fixtures.ts'

const ALICE = client('192.0.2.1')
const when = { now: 0, seconds: 1 }

test('a lock that is never given back disables its shard, and stops no thread', () => {
  const memory = createAffinityMemory(8, NO_CHANCE)
  const { shards } = openColumns(memory)
  const table = new AffinityTable(memory)
  table.remember(1, ALICE, 7, 0)
  expect(acquire(shards, 0)).toBe(true)
  expect(table.find(1, ALICE, when)).toBeUndefined()
  expect(shards[SHARD.lock]).toBe(LOST)
  table.remember(1, client('192.0.2.2'), 8, 0)
  table.forget(1, ALICE)
  table.forgetGroups(new Set([1]))
  expect(table.size).toBe(1)

  release(shards, 0)
  expect(table.find(1, ALICE, when)).toBe(7)
})
