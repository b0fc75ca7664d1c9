/** Some changes of a second are enough to know how long they take. */
const MOST_REMEMBERED = 10_000

export type ChangeKind = 'service' | 'endpoints'

interface Batch {
  readonly counts: Record<ChangeKind, number>
  /** When endpoints changed, as their annotation says; milliseconds since the epoch. */
  readonly times: number[]
}

/**
 * The changes that are on their way to the kernel. A run accounts for those that
 * came before it began, and for what runs before it could not write. Changes that
 * leave the loop nothing to do are forgotten.
 */
export class ChangeTimes {
  #waiting = emptyBatch()
  #isQueued = false
  #running = emptyBatch()

  note(kind: ChangeKind, at?: number): void {
    const { counts, times } = this.#waiting
    counts[kind]++
    if (at !== undefined && times.length < MOST_REMEMBERED) times.push(at)
  }

  /** What was noted since the last run is work for the next one. */
  queued(): void {
    this.#isQueued = true
  }

  /** A run takes everything so far. */
  begun(): void {
    if (this.#isQueued) this.#running = joined(this.#running, this.#waiting)
    this.#waiting = emptyBatch()
    this.#isQueued = false
  }

  /** The run has written what it took: when that had changed. */
  written(): readonly number[] {
    const { times } = this.#running
    this.#running = emptyBatch()
    return times
  }

  /** Changes that the kernel does not hold yet. */
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
  const times = [...a.times, ...b.times].slice(0, MOST_REMEMBERED)
  return { counts: { service, endpoints }, times }
}
