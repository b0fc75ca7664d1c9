import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import { type ApiResult, isTerminating } from '../../client/http/failure.ts'
import { type Clock, timestamp } from '../../lib/clock.ts'
import { isJsonObject, stringAt } from '../../lib/json.ts'
import { printable } from '../../lib/quote.ts'
import { coreEvent, type EventReport } from '../../resources/core-event.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { EventText } from './pod-events.ts'

export interface EventRecorderOptions {
  readonly client: Pick<ApiClient, 'create' | 'patch'>
  readonly clock: Clock
  readonly pod: PodPlan
  readonly reporter: RequestReporter
}

interface Recorded {
  /** Milliseconds since the epoch. */
  readonly first: number
  count: number
  /** The path of the Event, once it exists. */
  path: string
  /** When it was last written, milliseconds since the epoch. */
  writtenAt: number
}

const MAX_EVENTS = 25
/** Servers forget an Event an hour after it was last seen. */
const REFRESH_MS = 1_800_000

/**
 * Writes the Events of one Pod. Repetitions are counted in the Event, which is written at the 2nd, 4th, 8th, …
 * occurrence and at least every half an hour. A Pod has at most 25 different Events. An Event that cannot be
 * written is lost, and the reporter receives the failure.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #recorded = new Map<string, Recorded>()
  #work: Promise<void> = Promise.resolve()

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  record(text: EventText): void {
    const key = `${text.reason} ${text.message}`
    const known = this.#recorded.get(key)
    if (known === undefined && this.#recorded.size >= MAX_EVENTS) return
    const now = this.#options.clock.now()
    const recorded = known ?? { first: now, count: 0, path: '', writtenAt: 0 }
    this.#recorded.set(key, recorded)
    recorded.count++
    const isOld = now - recorded.writtenAt >= REFRESH_MS
    if (isOld || Number.isInteger(Math.log2(recorded.count))) {
      recorded.writtenAt = now
      this.#work = this.#work.then(() => this.#write(text, recorded))
    }
  }

  /** Resolves when every Event recorded until now is written, or lost. */
  settled(): Promise<void> {
    return this.#work
  }

  async #write(text: EventText, recorded: Recorded): Promise<void> {
    const { client, clock, pod } = this.#options
    const { first, count } = recorded
    const last = clock.now()
    if (recorded.path !== '') {
      const body = { count, lastTimestamp: timestamp(last) }
      const type = 'application/merge-patch+json'
      const patched = await client.patch(recorded.path, body, { type })
      if (patched.ok || patched.failure.code !== 404) return this.#report('patch', patched)
    }
    const collection = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/events`
    const event = coreEvent({ ...eventSubject(pod, text), first, last, count })
    const made = await client.create(collection, event)
    this.#report('create', made)
    if (made.ok && isJsonObject(made.value)) {
      recorded.path = `${collection}/${stringAt(made.value, 'metadata', 'name')}`
    }
  }

  #report(verb: 'create' | 'patch', written: ApiResult<unknown>): void {
    const { reporter } = this.#options
    if (written.ok) reporter.succeeded('events')
    else if (!isTerminating(written.failure)) {
      reporter.failed({ verb, resource: 'events' }, written.failure)
    }
  }
}

function eventSubject(
  { namespace, name, uid }: PodPlan,
  { type, reason, message }: EventText,
): Omit<EventReport, 'first' | 'last' | 'count'> {
  const regarding = { apiVersion: 'v1', kind: 'Pod', name, namespace, uid }
  return { regarding, type, reason, message: printable(message), component: 'node-agent' }
}
