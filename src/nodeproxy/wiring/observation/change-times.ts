/** A bounded sample suffices for the histogram of one run. */
const MAX_REMEMBERED = 10_000

export type ChangeKind = 'service' | 'endpoints'

interface Batch {
  readonly counts: Record<ChangeKind, number>
  /** When endpoints changed, by their annotation; milliseconds since the epoch. */
  readonly times: number[]
}

/**
 * The changes that are not in the kernel yet. A run accounts for those that arrived before it began,
 * and for those that earlier runs could not write. Changes that leave the loop nothing to do are
 * dropped.
 */
export class ChangeTimes {
  #waiting = emptyBatch()
  #isQueued = false
  #running = emptyBatch()

  note(kind: ChangeKind, at?: number): void {
    const { counts, times } = this.#waiting
    counts[kind]++
    if (at !== undefined && times.length < MAX_REMEMBERED) times.push(at)
  }

  /** The changes noted since the last run need a run. */
  queued(): void {
    this.#isQueued = true
  }

  /** A run takes every change so far. */
  begun(): void {
    if (this.#isQueued) this.#running = joined(this.#running, this.#waiting)
    this.#waiting = emptyBatch()
    this.#isQueued = false
  }

  /** The run wrote its changes; returns their times, in milliseconds since the epoch. */
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
