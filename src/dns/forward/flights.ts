import type { Clock } from '../../lib/clock.ts'
import type { UpstreamAnswer } from './message/read-reply.ts'

/** A question that upstreams are queried about, for all clients that have it. */
export interface Flight {
  /** The answer; undefined when there is none. */
  readonly answer: Promise<UpstreamAnswer | undefined>
  /** Resolves when the answer is so late that a stale one is better; not when it has arrived before. */
  readonly late: Promise<void>
}

/** What flights need. */
export interface FlightOptions {
  readonly maxInFlight: number
  readonly staleAfterMs: number
  readonly clock: Pick<Clock, 'after'>
}

/** Questions in flight: each question once, and so many at most. */
export class Flights {
  readonly #flights = new Map<string, Flight>()
  readonly #options: FlightOptions

  constructor(options: FlightOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#flights.size
  }

  /** The flight of `key`: the one that is under way, or a new one; undefined when there are too many. */
  join(key: string, begin: () => Promise<UpstreamAnswer | undefined>): Flight | undefined {
    const current = this.#flights.get(key)
    if (current !== undefined) return current
    if (this.#flights.size >= this.#options.maxInFlight) return undefined
    const late = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(this.#options.staleAfterMs, late.resolve)
    const answer = begin().finally(() => {
      this.#flights.delete(key)
      cancel()
    })
    const flight = { answer, late: late.promise }
    this.#flights.set(key, flight)
    return flight
  }

  /** Resolves when none is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#flights.values()].map(({ answer }) => answer))
  }
}
