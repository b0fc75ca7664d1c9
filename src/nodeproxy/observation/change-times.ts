/** The most times that are kept per run; further ones are dropped, because a sample is enough for a histogram. */
const MAX_REMEMBERED = 10_000

/** What changed. */
export type ChangeKind = 'service' | 'endpoints'

interface Batch {
  readonly counts: Record<ChangeKind, number>
  /** When endpoints changed, by their annotation; milliseconds since the epoch. */
  readonly times: number[]
}

/**
 * Tracks the changes that are not in the kernel yet. A run includes those that arrived before it began,
 * and those that earlier runs could not write. Changes that need no run are dropped.
 */
export class ChangeTimes {
  #waiting = emptyBatch()
  #isQueued = false
  #running = emptyBatch()

  /** Counts a change. `at`: when it happened, milliseconds since the epoch. */
  note(kind: ChangeKind, at?: number): void {
    const { counts, times } = this.#waiting
    counts[kind]++
    if (at !== undefined && times.length < MAX_REMEMBERED) times.push(at)
  }

  /** A run was queued: the changes since the last run need it. */
  queued(): void {
    this.#isQueued = true
  }

  /** A run begins, which includes every change so far. */
  begun(): void {
    if (this.#isQueued) this.#running = joined(this.#running, this.#waiting)
    this.#waiting = emptyBatch()
    this.#isQueued = false
  }

  /** The run wrote its changes. @returns their times, milliseconds since the epoch */
  written(): readonly number[] {
    const { times } = this.#running
    this.#running = emptyBatch()
    return times
  }

  /** The number of changes that are not in the kernel yet. */
  pending(kind: ChangeKind): number {
    return this.#running.counts[kind] + (this.#isQueued ? this.#waiting.counts[kind] : 0)
  }
}

function emptyBatch(): Batch {
  return { counts: { service: 0, endpoints: 0 }, times: [] }
}

function joined(a: Batch, b: Batch): Batch {
  const service = a.counts.service + b.counts.service
  const endpoints = a.counts.endpoints + b.counts.endpoints
  const times = [...a.times, ...b.times].slice(0, MAX_REMEMBERED)
  return { counts: { service, endpoints }, times }
}
