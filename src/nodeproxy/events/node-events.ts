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
  /** Posts one Event; a rejection is counted and not retried. */
  readonly send: (event: JsonObject) => Promise<void>
  readonly onOutcome?: (reason: string, outcome: 'sent' | 'suppressed' | 'failed') => void
}

/** The occurrences of one warning. Times are epoch milliseconds. */
interface Occurrences {
  readonly first: number
  lastSent: number
  count: number
}

/** The shortest time between two Events of the same warning. */
const REPEAT_MS = 10 * 60_000
/** A token bucket: its size in Events, and the milliseconds after which one more may be sent. */
const BURST = 25
const REFILL_MS = 10_000
const MAX_REMEMBERED = 1_000
const COMPONENT = 'node-proxy'

/**
 * Sends warnings as Events, at a limited rate: a warning that is repeated is counted, and sent again with its count
 * ten minutes later at the earliest; all warnings together are limited to a burst of 25 and then one in ten seconds.
 * A warning beyond the limits is suppressed: it is sent only when it is repeated.
 */
export class NodeEvents {
  readonly #options: NodeEventsOptions
  /** By object, reason and message; the least recently sent first. */
  readonly #known = new Map<string, Occurrences>()
  #tokens = BURST
  #refilled: number
  #sequence = 0

  constructor(options: NodeEventsOptions) {
    this.#options = options
    this.#refilled = options.clock.now()
  }

  /** Sends the warning, or suppresses it; `onOutcome` reports which. */
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

  #post(report: EventReport): void {
    this.#sequence = (this.#sequence + 1) % 0x10000
    const sequence = this.#sequence.toString(16).padStart(4, '0')
    const event = coreEvent(report, `${report.last.toString(16)}${sequence}`)
    this.#options.send(event).then(
      () => this.#report(report, 'sent'),
      () => this.#report(report, 'failed'),
    )
  }

  #remember(key: string, occurrences: Occurrences, isSent: boolean): void {
    if (isSent) this.#known.delete(key)
    this.#known.set(key, occurrences)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_REMEMBERED && oldest !== undefined) this.#known.delete(oldest)
  }

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

/** What sending Events needs. */
interface EventSenderParts {
  readonly client: Pick<ApiClient, 'create'>
  readonly clock: Clock
  readonly nodeName: string
  readonly metrics: Pick<Metrics, 'events'>
  readonly apiFailures: RequestReporter
}

const EVENTS = { verb: 'create', resource: 'events' } as const

/**
 * Creates the `NodeEvents` of the daemon: they are sent to the API server, counted in its metrics, and failures are
 * reported. An Event that is refused because its namespace is being deleted does not count as a failure.
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
