/** A task and the time at which it is due, in milliseconds of the loop's clock. */
interface Timer {
  readonly at: number
  readonly task: () => void
  isCancelled: boolean
}

/**
 * Timers of one thread. Those of the same duration end in the order in which they were set, so
 * each duration has a queue, and setting or cancelling one costs the same however many there are.
 */
export class Timers {
  readonly #queues = new Map<number, Timer[]>()

  /** Runs `task` at `now` + `ms`; the result cancels it. */
  after(now: number, ms: number, task: () => void): () => void {
    const timer: Timer = { at: now + ms, task, isCancelled: false }
    const queue = this.#queues.get(ms)
    if (queue) queue.push(timer)
    else this.#queues.set(ms, [timer])
    return () => {
      timer.isCancelled = true
    }
  }

  /** Milliseconds until the next one is due; infinite if there is none. */
  next(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const queue of this.#queues.values()) {
      const first = queue[0]
      if (first) next = Math.min(next, first.at)
    }
    return Math.max(next - now, 0)
  }

  /** Runs all that are due. */
  run(now: number): void {
    for (const [ms, queue] of this.#queues) {
      let passed = 0
      while (passed < queue.length) {
        const timer = queue[passed]
        if (timer === undefined || (timer.at > now && !timer.isCancelled)) break
        passed++
        if (!timer.isCancelled) timer.task()
      }
      if (passed > 0) queue.splice(0, passed)
      if (queue.length === 0) this.#queues.delete(ms)
    }
  }
}
