import type { Clock } from '../../../lib/clock.ts'

const TICK_MS = 5000
/** Between two ticks so far apart, the machine was suspended or its clock was set. */
const PAUSE_MS = 15_000

/**
 * Since when this process has watched the cluster without a break; the silence of a node counts from then on. A
 * break is a call of `begin`, a watch that is not connected, or a leap of the clock (the machine was suspended,
 * or its clock was set).
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

  /** Starts a new period now. */
  begin(): void {
    this.#since = this.#awakeAt = this.#clock.now()
  }

  /** The start of the period, in milliseconds since the epoch; a broken watch is noticed within five seconds. */
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
