import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import type { HammerResult, HammerTask } from '../../test/support/affinity/hammer.ts'
import { createAffinityMemory } from './affinity-memory.ts'
import { AffinityTable } from './affinity-table.ts'
import { clientNumber, NO_CHANCE } from './testing/fixtures.ts'

const PROGRAM = new URL('../../test/support/affinity/hammer.ts', import.meta.url)
const THREADS = [1, 2]
const CLIENTS = 1000
const ROUNDS = 100
const when = { now: 0, seconds: 1 }

/** Two threads at work on one table until both are done. */
async function hammer(capacity: number) {
  const memory = createAffinityMemory(capacity, NO_CHANCE)
  const gate = new SharedArrayBuffer(4)
  const sizes = { threads: THREADS.length, clients: CLIENTS, rounds: ROUNDS }
  const results = await Promise.all(
    THREADS.map(async (group) => {
      const workerData: HammerTask = { memory, gate, group, ...sizes }
      const worker = new Worker(PROGRAM, { workerData })
      const [result] = (await once(worker, 'message')) as [HammerResult]
      return result
    }),
  )
  return { table: new AffinityTable(memory), results }
}

/** Who is known of a group; their tokens must be theirs. */
function knownOf(table: AffinityTable, group: number): readonly number[] {
  const clients = Array.from({ length: CLIENTS }, (_, n) => n)
  const known = clients.filter((n) => table.find(group, clientOf(n), when) !== undefined)
  expect(known.filter((n) => table.find(group, clientOf(n), when)! % CLIENTS !== n)).toEqual([])
  return known
}

/** As the threads name them: 0.0.0.0 and what follows. */
function clientOf(n: number): Uint8Array {
  return clientNumber(n).with(0, 0)
}

test('threads lose none of their own clients and confuse no two', async () => {
  const { table, results } = await hammer(3 * CLIENTS)
  expect(results).toEqual(THREADS.map(() => ({ lost: 0, mixedUp: 0 })))
  for (const group of THREADS) {
    expect(knownOf(table, group)).toHaveLength(CLIENTS)
    const last = (ROUNDS - 1) * CLIENTS + 5
    expect(table.find(group, clientOf(5), when)).toBe(last)
  }
  expect(table.size).toBe(2 * CLIENTS + knownOf(table, 0).length)
  expect(table.evicted).toBe(0)
})

test('a table that is always full stays whole', async () => {
  const { table, results } = await hammer(500)
  expect(results.map(({ mixedUp }) => mixedUp)).toEqual([0, 0])
  expect(table.size).toBe([0, ...THREADS].flatMap((group) => knownOf(table, group)).length)
  expect(table.evicted).toBeGreaterThan(ROUNDS * CLIENTS)

  for (const group of [0, ...THREADS]) table.forgetGroups(new Set([group]))
  expect(table.size).toBe(0)
  const before = table.evicted
  for (let n = 0; n < 501; n++) table.remember(3, clientNumber(n), n, 0)
  expect([table.size, table.evicted - before]).toEqual([500, 1])
})
