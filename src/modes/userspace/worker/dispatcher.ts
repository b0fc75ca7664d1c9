import { AffinityTable } from '../../../affinity/affinity-table.ts'
import { monotonicMs } from '../../../lib/clock.ts'
import { systemRandom } from '../../../lib/random.ts'
import type { BackendState } from './backend-state.ts'
import { Counters } from './counters.ts'
import type { Answer, Order, WorkerSetup } from './messages.ts'
import { Occupancy } from './occupancy.ts'
import { RouteTable } from './route-table.ts'
import type { SelectionParts } from './selection.ts'
import { SessionTable } from './session-table.ts'

/** Milliseconds between two checks of idle clients and draining backends. */
export const MAINTENANCE_MS = 1_000

/** The state of a worker on either data path: routes, sessions and counters. */
export class Dispatcher {
  readonly routeTable: RouteTable
  readonly sessionTable: SessionTable
  readonly counters: Counters
  readonly selection: SelectionParts
  readonly #aside = new Set<BackendState>()

  constructor({ limits, affinity, counters, occupancy }: WorkerSetup) {
    this.counters = new Counters(counters)
    this.routeTable = new RouteTable({ drainMs: limits.drainMs, random: systemRandom })
    this.sessionTable = new SessionTable({
      counters: this.counters,
      occupancy: new Occupancy(occupancy),
      limits,
    })
    const table = new AffinityTable(affinity)
    this.selection = {
      affinity: table,
      counters: this.counters,
      aside: this.#aside,
      limits,
      sharedTime: monotonicMs,
    }
  }

  /** Takes over the changed routes of an order. */
  apply({ routes = [] }: Order, now: number): void {
    for (const [id, route] of routes) this.routeTable.replace(id, route, now)
    this.#endDrained(now)
  }

  /** The data that an order requests. */
  answerTo({ number, traffic }: Order): Answer {
    if (traffic === undefined) return { number }
    return { number, traffic: this.routeTable.traffic(traffic.withBackends) }
  }

  /** Ends sessions that exceeded their idle timeout, or the drain time of a removed backend. */
  runMaintenance(now: number): void {
    this.sessionTable.expire(now)
    this.#endDrained(now)
    for (const state of this.#aside) if (!state.isAside(now)) this.#aside.delete(state)
    this.counters.set('setAsideNow', this.#aside.size)
  }

  #endDrained(now: number): void {
    let draining = 0
    for (const { leavesAt = now, sessions } of this.routeTable.draining()) {
      if (leavesAt > now && sessions.size > 0) draining++
      if (leavesAt > now) continue
      this.counters.add('drainedOut', sessions.size)
      for (const session of sessions) session.abort()
    }
    this.routeTable.sweep()
    this.counters.set('drainingNow', draining)
  }
}
