/** Time as a value, so that everything above it can be tested without waiting. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Runs `task` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, task: () => void): () => void
}

/** The machine's clock. A pending timer never keeps the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
