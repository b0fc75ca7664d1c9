import type { Clock } from '../lib/clock.ts'

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  advance(ms: number): void
}

export function createManualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start
  const timers = new Set<{ readonly at: number; readonly task: () => void }>()
  return {
    now: () => now,
    after: (ms, task) => {
      const timer = { at: now + ms, task }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance: (ms) => {
      const until = now + ms
      while (true) {
        const due = [...timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0]
        if (due === undefined) break
        timers.delete(due)
        now = due.at
        due.task()
      }
      now = until
    },
  }
}
