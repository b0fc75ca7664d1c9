import type { Clock } from '../../../lib/clock.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { coreEvent, type EventReport } from '../../../resources/core-event.ts'
import type { Warning } from './warnings.ts'

/** How Events are sent. */
export interface NodeEventsOptions {
  readonly clock: Clock
  readonly nodeName: string
  /** Posts one Event. When it rejects, the Event is counted as failed and not sent again. */
  readonly send: (event: JsonObject) => Promise<void>
  readonly onOutcome?: (reason: string, outcome: 'sent' | 'suppressed' | 'failed') => void
}

interface Memory {
  readonly first: number
  lastSent: number
  count: number
}

/** Between two Events of the same warning. */
const REPEAT_MS = 10 * 60_000
/** The token bucket: Events at once, and the time until one more is allowed. */
const BURST = 25
const REFILL_MS = 10_000
const MAX_REMEMBERED = 1_000
const COMPONENT = 'node-proxy'

/**
 * Sends warnings as Events without flooding the API server. A repeated warning
 * is counted, and sent again after ten minutes with its count. All together are
 * limited to a burst of 25 and then one in ten seconds.
 */
export class NodeEvents {
  readonly #options: NodeEventsOptions
  /** By object, reason and message; the least recently sent first. */
  readonly #memory = new Map<string, Memory>()
  #tokens = BURST
  #refilled: number
  #sequence = 0

  constructor(options: NodeEventsOptions) {
    this.#options = options
    this.#refilled = options.clock.now()
  }

  /** Sends the warning as an Event, or only counts it. */
  warn(warning: Warning): void {
    const now = this.#options.clock.now()
    const key = JSON.stringify([warning.regarding, warning.reason, warning.message])
    const memory = this.#memory.get(key) ?? {
      first: now,
      lastSent: Number.NEGATIVE_INFINITY,
      count: 0,
    }
    memory.count += 1
    const due = now - memory.lastSent >= REPEAT_MS && this.#takeToken(now)
    if (due) memory.lastSent = now
    this.#remember(key, memory, due)
    if (!due) return this.#report(warning, 'suppressed')
    const reporter = { component: COMPONENT, host: this.#options.nodeName }
    const seen = { first: memory.first, last: now, count: memory.count }
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

  #remember(key: string, memory: Memory, sent: boolean): void {
    if (sent) this.#memory.delete(key)
    this.#memory.set(key, memory)
    const [oldest] = this.#memory.keys()
    if (this.#memory.size > MAX_REMEMBERED && oldest !== undefined) this.#memory.delete(oldest)
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
