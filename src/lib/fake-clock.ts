import type { Clock } from './clock.ts'

interface Timer {
  readonly at: number
  readonly task: () => void
}

/** Time that passes only when a test says so. */
export class FakeClock implements Clock {
  #now = 1_000_000
  readonly #timers = new Set<Timer>()

  now(): number {
    return this.#now
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + ms, task }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get hasTimers(): boolean {
    return this.#timers.size > 0
  }

  /** Passes `ms`, running due timers in order and letting their promises settle. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (let ran = 0; ; ran++) {
      if (ran > 10_000) throw new Error('10,000 timers in one go: something reschedules itself')
      await settle()
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      const [next] = due
      if (next === undefined) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.task()
    }
    this.#now = Math.max(this.#now, end)
  }

  /** The time that a call takes: passes without running timers. */
  elapse(ms: number): void {
    this.#now += ms
  }
}

/** Lets pending promise callbacks run; fakes answer within a few turns. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
