import type { Clock } from '../../../lib/clock.ts'

const TICK_MS = 5000
/** A tick that comes so late was not only waiting for its turn. */
const PAUSE_MS = 15_000

/**
 * Since when this process has followed the cluster without a break: silence of
 * others counts from then on only. A break is what `begin` is told of, a watch
 * that is not connected, and a leap of the clock: the machine slept, or its time
 * was set.
 */
export class ObservationPeriod {
  readonly #clock: Clock
  readonly #isConnected: () => boolean
  #since: number
  #awakeAt: number

  constructor(clock: Clock, isConnected: () => boolean) {
    this.#clock = clock
    this.#isConnected = isConnected
    this.#since = this.#awakeAt = clock.now()
  }

  begin(): void {
    this.#since = this.#awakeAt = this.#clock.now()
  }

  /** In milliseconds since the epoch; of a broken watch it knows within five seconds. */
  since(): number {
    const now = this.#clock.now()
    const hasLeapt = now < this.#awakeAt || now - this.#awakeAt > PAUSE_MS
    if (hasLeapt) this.begin()
    this.#awakeAt = now
    return this.#since
  }

  /** Notices breaks until the returned function is called. */
  watch(): () => void {
    let cancel = (): void => undefined
    const tick = (): void => {
      if (this.#isConnected()) this.since()
      else this.begin()
      cancel = this.#clock.after(TICK_MS, tick)
    }
    tick()
    return () => cancel()
  }
}
