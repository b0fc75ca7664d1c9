import type { Clock } from '../../../lib/clock.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { Mode, TrafficReading } from '../../../modes/mode.ts'
import { isOfService } from './is-of-service.ts'
import { RisingTotals } from './rising-totals.ts'

/** Milliseconds for which a reading serves every reader. */
const MAX_AGE_MS = 1_000
/** Reading for metrics takes at most one 100th of the time. */
const IDLE_SHARE = 100
/** So long a scrape waits for a reading, before it shows the one before. */
const SLOW_MS = 250

type CountingMode = Pick<Mode, 'readTraffic'>

interface Kept {
  /** Whose backends were read; undefined: of no Service. */
  readonly service: string | undefined
  readonly mode: CountingMode
  readonly at: number
  readonly costMs: number
  readonly reading: TrafficReading
}

/** What the counters are read with. */
export interface TrafficCountersParts {
  readonly clock: Clock
  /** The mode at work; undefined until the cluster is listed. */
  readonly mode: () => CountingMode | undefined
}

/**
 * The counters of the mode at work, for metrics and inspection: one reading at a time, and at most one a second
 * for the same Services, however many readers there are. Totals of a Service never go back while the mode is the same.
 */
export class TrafficCounters {
  readonly #parts: TrafficCountersParts
  readonly #mutex = new Mutex()
  #totals = new RisingTotals()
  #kept: Kept | undefined

  constructor(parts: TrafficCountersParts) {
    this.#parts = parts
  }

  /**
   * Totals of all Services; undefined: nothing is counted, or nothing was read yet. They may be a hundred times as old as
   * reading them takes, and a slow reading is there for the next scrape.
   */
  totals(): Promise<TrafficReading['totals'] | undefined> {
    const { clock, mode } = this.#parts
    const reading = this.#mutex.run(async () => {
      const fresh = this.#fresh(() => true, IDLE_SHARE)
      return (fresh ?? (await this.#read(undefined)))?.totals
    })
    const late = Promise.withResolvers<TrafficReading['totals'] | undefined>()
    const cancel = clock.after(SLOW_MS, () => {
      late.resolve(this.#kept?.mode === mode() ? this.#kept?.reading.totals : undefined)
    })
    return Promise.race([reading, late.promise]).finally(cancel)
  }

  /** With the backends of these Services (see `isOfService`). */
  read(service: string): Promise<TrafficReading | undefined> {
    return this.#mutex.run(async () => {
      const kept = this.#fresh((one) => one.service === service || one.service === '', 0)
      return kept ?? this.#read(service)
    })
  }

  #fresh(fits: (kept: Kept) => boolean, share: number): TrafficReading | undefined {
    const kept = this.#kept
    if (kept === undefined || kept.mode !== this.#parts.mode() || !fits(kept)) return undefined
    const age = this.#parts.clock.now() - kept.at
    return age < Math.max(MAX_AGE_MS, share * kept.costMs) ? kept.reading : undefined
  }

  async #read(service: string | undefined): Promise<TrafficReading | undefined> {
    const { clock, mode: modeNow } = this.#parts
    const mode = modeNow()
    if (mode !== this.#kept?.mode) this.#totals = new RisingTotals()
    if (mode?.readTraffic === undefined) {
      this.#kept = undefined
      return undefined
    }
    const begun = clock.now()
    const isWanted = service === undefined ? undefined : isOfService(service)
    const { totals, backends } = await mode.readTraffic(isWanted)
    const at = clock.now()
    const reading = { backends, totals: this.#totals.raise(totals) }
    this.#kept = { ...{ service, mode, at, reading }, costMs: at - begun }
    return reading
  }
}
