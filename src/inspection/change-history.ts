import type { AppliedRun } from '../sync/sync-loop.ts'

/** A Service whose entries were written into the kernel. Times are milliseconds since the epoch. */
export interface HistoryEntry {
  readonly service: string
  readonly compiledAt: number
  readonly appliedAt: number
  /** Objects that the run wrote or removed, for all its Services together. */
  readonly objects: number
  readonly hasFailures: boolean
}

/** Milliseconds from compilation to the kernel. */
export interface LatencySummary {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const MAX_CHANGES = 1_000
/** The most Services of one run that are remembered; a cold start may have more. */
const MAX_WAITING = 10_000

/** Remembers the last changes of a sync loop, and passes on new ones. */
export class ChangeHistory {
  readonly #last: HistoryEntry[] = []
  readonly #readers = new Set<(change: HistoryEntry) => void>()
  /** Services compiled by the run in progress, or by failed runs before it, with the time of the first compilation. */
  #compiled = new Map<string, number>()

  /** Objects of node-proxy that other programs have changed since the start. */
  driftRepaired = 0

  /** A run has compiled these Services, and will write them. */
  compiled(services: readonly string[], now: number): void {
    for (const service of services) {
      if (this.#compiled.size >= MAX_WAITING) return
      if (!this.#compiled.has(service)) this.#compiled.set(service, now)
    }
  }

  applied({ at, change, failed }: AppliedRun): void {
    const objects = change.set.length + change.unset.length
    for (const [service, compiledAt] of this.#compiled) {
      const hasFailures = failed.size > 0
      this.#add({ service, compiledAt, appliedAt: at, objects, hasFailures })
    }
    this.#compiled = new Map()
  }

  /** Calls back with the last changes, oldest first, and then with each further one. @returns stops it */
  watch(onChange: (change: HistoryEntry) => void): () => void {
    for (const change of this.#last) onChange(change)
    this.#readers.add(onChange)
    return () => void this.#readers.delete(onChange)
  }

  /** The latency of the last changes; zeros before the first change. */
  latency(): LatencySummary {
    const sorted = this.#last.map((one) => one.appliedAt - one.compiledAt).toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
    return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) }
  }

  #add(change: HistoryEntry): void {
    this.#last.push(change)
    if (this.#last.length > MAX_CHANGES) this.#last.shift()
    for (const reader of this.#readers) reader(change)
  }
}
