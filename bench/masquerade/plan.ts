import type { Load } from '../report/masquerade/results.ts'
import type { CellOrder } from './cell-order.ts'

/** What a run measures: every load through every subject. */
export interface Plan {
  readonly rates: readonly number[]
  readonly clients: readonly number[]
  readonly binds: readonly boolean[]
  readonly seconds: number
  readonly subjects: readonly string[]
}

/** The most that runs at the same time. */
export interface Limits {
  readonly processes: number
  /** The most connections per second of all processes together. */
  readonly perSecond: number
}

/** A process for each rate and subject; high rates first, since they use the most. */
export function ordersOf({ rates, clients, binds, seconds, subjects }: Plan): readonly CellOrder[] {
  return rates
    .toSorted((a, b) => b - a)
    .flatMap((perSecond) => {
      const loads = binds.flatMap((bound) =>
        clients.map((count): Load => ({ perSecond, clients: count, binds: bound, seconds })),
      )
      return subjects.map((subject) => ({ subject, loads }))
    })
}

/** The first waiting order that the limits admit beside the running ones. A single order may always run. */
export function nextOrder(
  waiting: readonly CellOrder[],
  running: readonly CellOrder[],
  limits: Limits,
): CellOrder | undefined {
  if (running.length === 0) return waiting[0]
  if (running.length >= limits.processes) return undefined
  const used = running.reduce((sum, order) => sum + rateOf(order), 0)
  return waiting.find((order) => used + rateOf(order) <= limits.perSecond)
}

function rateOf({ loads }: CellOrder): number {
  return loads[0]?.perSecond ?? 0
}
