import type { PodAction } from './pod-action.ts'

/** One look at a Pod: collects what is to be done, and when to look again. */
export interface Turn {
  readonly now: number
  readonly actions: PodAction[]
  /** When something falls due; Infinity: never by itself. */
  readonly wakeAt: number
  /** Whether `time` has come; if not, the next look is then at the latest. */
  isDue(time: number): boolean
}

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
