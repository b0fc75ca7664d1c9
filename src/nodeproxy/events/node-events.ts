import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import { isTerminating } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { coreEvent, type EventReport } from '../../resources/core-event.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { Warning } from './warnings.ts'

/** How Events are sent. */
interface NodeEventsOptions {
  readonly clock: Clock
  readonly nodeName: string
  /** Posts one Event. If it rejects, the Event counts as `failed`, and is not sent again. */
  readonly send: (event: JsonObject) => Promise<void>
  /** Called once for each warning with what became of it. */
  readonly onOutcome?: (reason: string, outcome: 'sent' | 'suppressed' | 'failed') => void
}

/** The occurrences of one warning. Times are in milliseconds since the epoch. */
interface Occurrences {
  readonly first: number
  /** When an Event was last sent; −Infinity if none was. */
  lastSent: number
  count: number
}

/** The shortest time between two Events of the same warning, in milliseconds. */
const REPEAT_MS = 10 * 60_000
/** The size of the token bucket that limits all Events together: the number of Events that may be sent at once. */
const BURST = 25
/** The time after which the bucket has one more token, in milliseconds. */
const REFILL_MS = 10_000
/** The maximum number of warnings whose occurrences are counted. */
const MAX_REMEMBERED = 1_000
/** The name of the reporting program in Events. */
const COMPONENT = 'node-proxy'

/**
 * Sends warnings as Events, at a limited rate. Repetitions of a warning are counted. A repetition is sent with that
 * count if the last Event of the warning is at least ten minutes old. All warnings together may cause 25 Events at
 * once, and then one every ten seconds. A warning that exceeds a limit is suppressed: it is counted, but not queued,
 * so it is sent only if it is repeated later.
 */
export class NodeEvents {
  readonly #options: NodeEventsOptions
  /** By object, reason and message. Sorted by when it was last sent or, if never, first seen; the oldest first. */
  readonly #known = new Map<string, Occurrences>()
  #tokens = BURST
  #refilled: number
  #sequence = 0

  constructor(options: NodeEventsOptions) {
    this.#options = options
    this.#refilled = options.clock.now()
  }

  /** Sends the warning as an Event, or suppresses it. `onOutcome` is called with the result. */
  warn(warning: Warning): void {
    const now = this.#options.clock.now()
    const key = JSON.stringify([warning.regarding, warning.reason, warning.message])
    const occurrences = this.#known.get(key) ?? {
      first: now,
      lastSent: Number.NEGATIVE_INFINITY,
      count: 0,
    }
    occurrences.count += 1
    const isDue = now - occurrences.lastSent >= REPEAT_MS && this.#takeToken(now)
    if (isDue) occurrences.lastSent = now
    this.#remember(key, occurrences, isDue)
    if (!isDue) return this.#report(warning, 'suppressed')
    const reporter = { component: COMPONENT, host: this.#options.nodeName }
    const seen = { first: occurrences.first, last: now, count: occurrences.count }
    this.#post({ ...warning, type: 'Warning', ...reporter, ...seen })
  }

  /** Posts an Event. Its name ends with its time and a sequence number, so that no two Events have the same. */
  #post(report: EventReport): void {
    this.#sequence = (this.#sequence + 1) % 0x10000
    const sequence = this.#sequence.toString(16).padStart(4, '0')
    const event = coreEvent(report, `${report.last.toString(16)}${sequence}`)
    this.#options.send(event).then(
      () => this.#report(report, 'sent'),
      () => this.#report(report, 'failed'),
    )
  }

  /** Keeps the occurrences, and forgets the oldest entry of `#known` if there are too many. */
  #remember(key: string, occurrences: Occurrences, isSent: boolean): void {
    if (isSent) this.#known.delete(key)
    this.#known.set(key, occurrences)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_REMEMBERED && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Takes a token from the bucket. @returns whether there was one */
  #takeToken(now: number): boolean {
    const earned = Math.floor((now - this.#refilled) / REFILL_MS)
    if (earned > 0) {
      this.#tokens = Math.min(BURST, this.#tokens + earned)
      this.#refilled += earned * REFILL_MS
    }
    if (this.#tokens === 0) return false
    this.#tokens -= 1
    return true
  }

  #report({ reason }: Pick<Warning, 'reason'>, outcome: 'sent' | 'suppressed' | 'failed'): void {
    this.#options.onOutcome?.(reason, outcome)
  }
}

/** What `eventSender` uses. */
interface EventSenderParts {
  readonly client: Pick<ApiClient, 'create'>
  readonly clock: Clock
  readonly nodeName: string
  readonly metrics: Pick<Metrics, 'events'>
  readonly apiFailures: RequestReporter
}

/** The request, as failures of it are reported. */
const EVENTS = { verb: 'create', resource: 'events' } as const

/**
 * Creates the `NodeEvents` of the daemon. It posts Events to the API server, counts them in `metrics`, and reports
 * failed requests to `apiFailures`. An Event that is refused because its namespace is being deleted is expected: it is
 * counted as `failed` in `metrics`, but not reported to `apiFailures`.
 */
export function eventSender(parts: EventSenderParts): NodeEvents {
  const { client, clock, nodeName, metrics, apiFailures } = parts
  return new NodeEvents({
    clock,
    nodeName,
    async send(event) {
      const namespace = stringAt(event, 'metadata', 'namespace')
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`
      const result = await client.create(path, event)
      if (result.ok) return apiFailures.succeeded(EVENTS.resource)
      if (!isTerminating(result.failure)) apiFailures.failed(EVENTS, result.failure)
      throw new Error(result.failure.message)
    },
    onOutcome: (reason, outcome) => metrics.events.inc({ reason, outcome }),
  })
}
