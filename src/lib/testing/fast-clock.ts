import { type Clock, systemClock } from '../clock.ts'

/** A clock that runs faster than the machine's. */
export interface FastClock extends Clock {
  /** From now on the clock runs at the speed of the machine's clock, also for pending timers. */
  slowDown(): void
}

/** Time that passes `speed` times as fast as the machine's. */
export function createFastClock(speed: number): FastClock {
  let [origin, began, factor] = [systemClock.now(), systemClock.now(), speed]
  const now = (): number => origin + (systemClock.now() - began) * factor
  return {
    now,
    after(ms, task) {
      const due = now() + ms
      let cancel: () => void
      const wait = (): void => {
        cancel = systemClock.after((due - now()) / factor, () => (now() < due ? wait() : task()))
      }
      wait()
      return () => cancel()
    },
    slowDown() {
      const passed = now()
      began = systemClock.now()
      origin = passed
      factor = 1
    },
  }
}
