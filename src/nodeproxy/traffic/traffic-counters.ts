import type { ServiceKey } from '../../forwarding/entry.ts'
import type { Clock } from '../../lib/clock.ts'
import { Mutex } from '../../lib/mutex.ts'
import type { Mode, TrafficNumbers, TrafficReading } from '../../modes/mode.ts'

/** Numbers that may decrease. */
const PRESENT: ReadonlySet<string> = new Set(['connectionsNow'])

/** Milliseconds for which a reading serves every reader. */
const MAX_AGE_MS = 1_000
/** For metrics, a reading is used 100 times as long as it took, so that reading takes at most 1 % of the time. */
const IDLE_SHARE = 100
/** Milliseconds that a scrape waits for a reading before it shows the previous one. */
const SLOW_MS = 250

type CountingMode = Pick<Mode, 'readTraffic'>

interface Kept {
  /** The Services whose backends were read (see `isOfService`); undefined: no backends were read. */
  readonly service: string | undefined
  readonly mode: CountingMode
  readonly at: number
  readonly costMs: number
  readonly reading: TrafficReading
}

/** What the counters are read with. */
interface TrafficCountersParts {
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
   * Totals of all Services; undefined: nothing is counted, or nothing was read yet. A reading is used for a second, or
   * for 100 times its own duration if that is longer. A scrape does not wait for a slow reading, which serves the next
   * scrape.
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
    this.#kept = { service, mode, at, reading, costMs: at - begun }
    return reading
  }
}

interface Service {
  readonly counted: TrafficNumbers
  /** What counters that have vanished since the first reading had counted. */
  readonly lost: Readonly<Record<string, number>> | undefined
}

/**
 * Totals that never go back. The sum of a Service falls when one of its counters vanishes with what it counted: a
 * virtual server, an element of a map. Prometheus would take the rest of the sum for new traffic.
 * What such a counter counted after its last reading is not included.
 */
export class RisingTotals {
  #services: ReadonlyMap<ServiceKey, Service> = new Map()

  /** The totals of a reading plus what vanished before; a Service that the reading does not have is forgotten. */
  raise(totals: TrafficReading['totals']): TrafficReading['totals'] {
    const before = this.#services
    const services = new Map(
      [...totals].map(([key, counted]) => [key, follow(before.get(key), counted)] as const),
    )
    this.#services = services
    return new Map([...services].map(([key, service]) => [key, shown(service)]))
  }
}

function follow(before: Service | undefined, counted: TrafficNumbers): Service {
  if (before === undefined) return { counted, lost: undefined }
  const fallen = Object.entries<number | undefined>({ ...before.counted }).flatMap(
    ([name, last = 0]): [string, number][] => {
      const fall = last - (counted[name as keyof TrafficNumbers] ?? 0)
      return fall > 0 && !PRESENT.has(name) ? [[name, fall + (before.lost?.[name] ?? 0)]] : []
    },
  )
  if (fallen.length === 0) return { counted, lost: before.lost }
  return { counted, lost: { ...before.lost, ...Object.fromEntries(fallen) } }
}

function shown({ counted, lost }: Service): TrafficNumbers {
  if (lost === undefined) return counted
  const numbers = Object.entries<number | undefined>({ ...counted })
  return Object.fromEntries(
    numbers.map(([name, count = 0]) => [name, count + (lost[name] ?? 0)] as const),
  )
}

/** Whether `service` selects a Service: namespace/name, or namespace/ for all of a namespace; empty: all. */
export function isOfService(service: string): (one: string) => boolean {
  if (service === '') return () => true
  return service.endsWith('/') ? (one) => one.startsWith(service) : (one) => one === service
}
