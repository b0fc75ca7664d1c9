import type { Clock } from '../clock.ts'

interface Timer {
  readonly at: number
  readonly task: () => void
}

/** A clock that a test advances. */
export class FakeClock implements Clock {
  #now: number
  readonly #timers = new Set<Timer>()

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + ms, task }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Milliseconds until each pending timer is due, ascending. */
  pending(): readonly number[] {
    return this.#inOrder().map(({ at }) => at - this.#now)
  }

  /** Passes `ms`, running due timers in order and letting their promises settle. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (let ran = 0; ; ran++) {
      if (ran > 10_000) throw new Error('10,000 timers in one go: something reschedules itself')
      await settle()
      const [next] = this.#inOrder()
      if (next === undefined || next.at > end) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.task()
    }
    this.#now = Math.max(this.#now, end)
  }

  /** Lets time pass without running timers, like the duration of a call. */
  elapse(ms: number): void {
    this.#now += ms
  }

  /** Timers by their due time; those of the same time in the order in which they were set. */
  #inOrder(): readonly Timer[] {
    return [...this.#timers].sort((a, b) => a.at - b.at)
  }
}

/** Lets pending promise callbacks run; fakes answer within a few turns. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
