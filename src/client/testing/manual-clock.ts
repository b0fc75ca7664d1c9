import type { Clock } from '../../lib/clock.ts'

export interface ManualClock extends Clock {
  /** Lets time pass; runs what falls due, in order. */
  advance(ms: number): void
  /** Delays of the tasks that wait, milliseconds from now, ascending. */
  pending(): readonly number[]
}

/** A clock that stands still until it is told to move. */
export function createManualClock(start = 1_700_000_000_000): ManualClock {
  let now = start
  let tasks: { readonly due: number; readonly task: () => void }[] = []
  return {
    now: () => now,
    after(ms, task) {
      const entry = { due: now + ms, task }
      tasks = [...tasks, entry].toSorted((a, b) => a.due - b.due)
      return () => {
        tasks = tasks.filter((other) => other !== entry)
      }
    },
    advance(ms) {
      const end = now + ms
      for (let next = tasks[0]; next !== undefined && next.due <= end; next = tasks[0]) {
        tasks = tasks.slice(1)
        now = next.due
        next.task()
      }
      now = end
    },
    pending: () => tasks.map(({ due }) => due - now),
  }
}
