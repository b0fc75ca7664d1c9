import type { PodAction } from './pod-action.ts'

/** Collects the actions of one call of `advance`, and the time of the next one. */
export interface Turn {
  readonly now: number
  readonly actions: PodAction[]
  /** The earliest time that `isDue` was called with and that is in the future; Infinity: none. */
  readonly wakeAt: number
  /** Whether `time` has come; otherwise `wakeAt` is not later than it. */
  isDue(time: number): boolean
}

/** A turn without actions. `now`: milliseconds since the epoch. */
export function beginTurn(now: number): Turn {
  const actions: PodAction[] = []
  let wakeAt = Number.POSITIVE_INFINITY
  return {
    now,
    actions,
    get wakeAt() {
      return wakeAt
    },
    isDue(time) {
      if (time > now) wakeAt = Math.min(wakeAt, time)
      return time <= now
    },
  }
}
