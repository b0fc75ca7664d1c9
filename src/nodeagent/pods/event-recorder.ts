import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import { type ApiResult, isTerminating } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { timestamp } from '../../lib/duration.ts'
import { isJsonObject, stringAt } from '../../lib/json.ts'
import { printable } from '../../lib/quote.ts'
import { coreEvent, type EventReport } from '../../resources/core-event.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { PodAction, PodEvent } from '../state/pod-event.ts'
import type { PodState } from '../state/pod-state.ts'

interface EventRecorderOptions {
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
/** A server deletes an Event an hour after it was last written, so it is written again before. */
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

/** Type, reason and message of an Event of a Pod. */
export interface EventText {
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  readonly message: string
}

/** The Event of something that happened to a Pod in this state; undefined: none. */
export function textOfEvent(
  event: PodEvent,
  { restartPolicy }: Pick<PodPlan, 'restartPolicy'>,
  { stop }: Pick<PodState, 'stop'>,
): EventText | undefined {
  switch (event.is) {
    case 'unconnected':
      return warning('FailedCreatePodSandBox', event.message)
    case 'started':
      return { type: 'Normal', reason: 'Started', message: `Started container ${event.container}` }
    case 'refused':
      return warning('Failed', `container ${event.container}: ${event.message}`)
    case 'probed':
      return event.outcome === 'pass'
        ? undefined
        : warning('Unhealthy', `${named(event.kind)} probe of ${event.container}: ${event.message}`)
    case 'ended': {
      if ((event.exitCode === 0 && event.signal === 0) || stop !== undefined) return undefined
      const reason = restartPolicy === 'Never' ? 'Failed' : 'BackOff'
      return warning(reason, `container ${event.container} ended with ${howOf(event)}`)
    }
    case 'unmounted':
      // The end of a Pod aborts the requests for its volumes.
      return stop === undefined ? warning(FAILED_MOUNT, event.message) : undefined
    case 'noticed':
      return warning(event.reason, event.message)
    case 'connected':
    case 'disconnected':
    case 'mounted':
    case 'hooked':
    case 'stopped':
      return undefined
  }
}

/** The Event of an action; undefined: none. */
export function textOfAction(action: PodAction): EventText | undefined {
  if (action.do !== 'signal') return undefined
  const how = action.signal === 'SIGTERM' ? 'Stopping' : 'Killing'
  return { type: 'Normal', reason: 'Killing', message: `${how} container ${action.container}` }
}

/** An Event for each fault of the Pod's spec. */
export function faultTexts({ containers, volumeFault }: PodPlan): readonly EventText[] {
  if (volumeFault !== undefined) return [warning(FAILED_MOUNT, volumeFault)]
  return containers.flatMap(({ fault }) => (fault === undefined ? [] : [warning('Failed', fault)]))
}

/** The reason of Events about volumes, as in Kubernetes. */
export const FAILED_MOUNT = 'FailedMount'

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message }
}

function named(kind: string): string {
  return `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`
}

function howOf({
  exitCode,
  signal,
}: {
  readonly exitCode: number
  readonly signal: number
}): string {
  return signal === 0 ? `exit code ${exitCode}` : `signal ${signal}`
}
