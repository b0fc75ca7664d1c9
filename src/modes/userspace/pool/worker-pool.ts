import { createAffinityMemory } from '../../../affinity/affinity-memory.ts'
import { AffinityTable } from '../../../affinity/affinity-table.ts'
import { clientsOwner } from '../../../forwarding/affinity.ts'
import type { EntryId } from '../../../forwarding/entry.ts'
import { contentHash } from '../../../lib/hash.ts'
import { systemRandom } from '../../../lib/random.ts'
import type { TrafficCounts } from '../../mode.ts'
import type { ForwarderOptions } from '../forwarder.ts'
import type { Route } from '../route.ts'
import type { RouteTraffic } from '../traffic/route-traffic.ts'
import { createCounterMemory, sumCounts } from '../worker/counters.ts'
import type { Answer, Order } from '../worker/messages.ts'
import { createOccupancy } from '../worker/occupancy.ts'
import { PoolWorker } from './pool-worker.ts'
import type { WakeUp } from './wake-up.ts'

/** The workers of one data path: sends orders to all of them, and sums their counters. */
export class WorkerPool {
  readonly #members: readonly PoolWorker[]
  readonly #counters
  readonly #affinity: AffinityTable
  readonly #sticky = new StickyRoutes()

  /** Each native worker needs a wake-up descriptor. */
  constructor(options: ForwarderOptions, wakeUps: readonly WakeUp[] = []) {
    const { dataPath, workers, limits, mark, onLost } = options
    const affinity = createAffinityMemory(limits.affinityClients, systemRandom)
    this.#affinity = new AffinityTable(affinity)
    const occupancy = createOccupancy(systemRandom)
    this.#counters = Array.from({ length: workers }, createCounterMemory)
    this.#members = this.#counters.map((counters, worker) => {
      const wakeUp = wakeUps[worker]
      const shared = { dataPath, workers, limits, mark, affinity, occupancy }
      return new PoolWorker({
        setup: { ...shared, counters, wake: wakeUp?.descriptor ?? -1 },
        wake: () => wakeUp?.ring(),
        onLost,
      })
    })
  }

  get size(): number {
    return this.#members.length
  }

  /** Resolves to the answers when all have carried out the order; a lost worker has none. */
  give(
    orderFor: (worker: number) => Omit<Order, 'number'>,
  ): Promise<readonly (Answer | undefined)[]> {
    return Promise.all(this.#members.map((member, worker) => member.give(orderFor(worker))))
  }

  /** As `give`, for changed routes; then forgets affinity groups that have no route any more. */
  async applyRoutes(
    changes: ReadonlyMap<EntryId, Route | undefined>,
    orderFor: (worker: number) => Omit<Order, 'number' | 'routes'>,
  ): Promise<readonly (Answer | undefined)[]> {
    const lost = this.#sticky.apply(changes)
    const routes = [...changes]
    const answers = await this.give((worker) => ({ ...orderFor(worker), routes }))
    if (lost.size > 0) this.#affinity.forgetGroups(lost)
    return answers
  }

  counts(): TrafficCounts {
    const { size, evicted } = this.#affinity
    return { ...sumCounts(this.#counters), affinityClientsNow: size, affinityEvicted: evicted }
  }

  /** What each worker counted; a lost worker has nothing. */
  async routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> {
    const answers = await this.give(() => ({ traffic: { withBackends } }))
    return answers.flatMap((answer) => answer?.traffic ?? [])
  }

  /** Resets what is left and ends the threads. */
  async end(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()))
  }
}

/** The groups by which clients of routes are remembered, each with the number of routes that use it. */
class StickyRoutes {
  readonly #groups = new Map<EntryId, number>()
  readonly #users = new Map<number, number>()

  /** Returns the groups (`contentHash` of `clientsOwner`) that no route uses any more. */
  apply(changes: ReadonlyMap<EntryId, Route | undefined>): ReadonlySet<number> {
    const left = new Set<number>()
    for (const [id, route] of changes) {
      const before = this.#groups.get(id)
      const group = route?.affinity && contentHash(clientsOwner(route))
      if (group === before) continue
      if (group === undefined) this.#groups.delete(id)
      else this.#groups.set(id, group)
      this.#count(group, 1)
      this.#count(before, -1)
      if (before !== undefined) left.add(before)
    }
    return new Set([...left].filter((group) => !this.#users.has(group)))
  }

  #count(group: number | undefined, more: 1 | -1): void {
    if (group === undefined) return
    const users = (this.#users.get(group) ?? 0) + more
    if (users === 0) this.#users.delete(group)
    else this.#users.set(group, users)
  }
}
