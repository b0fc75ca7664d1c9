import type { Clock } from '../../../lib/clock.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { Mode, TrafficReading } from '../../../modes/mode.ts'
import { isOfService } from './is-of-service.ts'
import { RisingTotals } from './rising-totals.ts'

/** Milliseconds for which a reading serves all that ask for it. */
const MAX_AGE_MS = 1_000
/** Reading for metrics takes at most one 20th of the time. */
const IDLE_SHARE = 20

type CountingMode = Pick<Mode, 'readTraffic'>

interface Kept {
  /** Whose backends were read; undefined: nobody's. */
  readonly service: string | undefined
  readonly mode: CountingMode
  readonly at: number
  readonly costMs: number
  readonly reading: TrafficReading
}

/** What the counters are read with. */
export interface TrafficCountersParts {
  readonly clock: Pick<Clock, 'now'>
  /** The mode at work; undefined until the cluster is listed. */
  readonly mode: () => CountingMode | undefined
}

/**
 * The counters of the mode at work, for metrics and inspection: one reading at a time, and at most one a second
 * for the same question, however many ask. Totals of a Service never go back while the mode is the same.
 */
export class TrafficCounters {
  readonly #parts: TrafficCountersParts
  readonly #mutex = new Mutex()
  #totals = new RisingTotals()
  #kept: Kept | undefined

  constructor(parts: TrafficCountersParts) {
    this.#parts = parts
  }

  /** Totals of all Services, at most 20 times as old as reading them takes; undefined: nothing is counted. */
  totals(): Promise<TrafficReading['totals'] | undefined> {
    return this.#mutex.run(async () => {
      const kept = this.#fresh(() => true, IDLE_SHARE)
      return (kept ?? (await this.#read(undefined)))?.totals
    })
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
    this.#kept = undefined
    if (mode?.readTraffic === undefined) return undefined
    const begun = clock.now()
    const isWanted = service === undefined ? undefined : isOfService(service)
    const { totals, backends } = await mode.readTraffic(isWanted)
    const at = clock.now()
    const reading = { backends, totals: this.#totals.raise(totals) }
    this.#kept = { ...{ service, mode, at, reading }, costMs: at - begun }
    return reading
  }
}
