import { parentPort, workerData } from 'node:worker_threads'
import type { AffinityMemory } from '../../../src/affinity/affinity-memory.ts'
import { AffinityTable } from '../../../src/affinity/affinity-table.ts'

/** One of several threads that use one table as fast as they can. */
export interface HammerTask {
  readonly memory: AffinityMemory
  /** Counts the threads that are ready; they begin when all of them are. */
  readonly gate: SharedArrayBuffer
  readonly threads: number
  /** The group that only this thread uses; all use group 0 too. */
  readonly group: number
  readonly clients: number
  readonly rounds: number
}

/** Each thread stores tokens of the form `round * clients + client`. */
export interface HammerResult {
  /** Own clients whose token was not the one that was stored just before. */
  readonly lost: number
  /** Clients that were found with another client's token. */
  readonly mixedUp: number
}

const task = workerData as HammerTask
const when = { now: 0, seconds: 1 }
waitForAll(new Int32Array(task.gate))
parentPort?.postMessage(hammer(new AffinityTable(task.memory)))

function waitForAll(gate: Int32Array): void {
  Atomics.add(gate, 0, 1)
  while (Atomics.load(gate, 0) < task.threads) Atomics.pause()
}

function hammer(table: AffinityTable): HammerResult {
  const { group, clients, rounds } = task
  const address = new Uint8Array(4)
  let lost = 0
  let mixedUp = 0
  for (let round = 0; round < rounds; round++) {
    for (let client = 0; client < clients; client++) {
      address[2] = client >> 8
      address[3] = client
      const token = round * clients + client
      table.remember(group, address, token, 0)
      if (table.find(group, address, when) !== token) lost++
      table.remember(0, address, token, 0)
      const shared = table.find(0, address, when)
      if (shared !== undefined && shared % clients !== client) mixedUp++
      if (token % 7 === group) table.forget(0, address)
      if (token % 250 === group) table.forgetGroups(new Set([0]))
    }
  }
  return { lost, mixedUp }
}
