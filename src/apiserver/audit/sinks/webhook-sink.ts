import type { Clock } from '../../../lib/clock.ts'
import { BufferedSink, type Delivery, type SinkContext } from './buffered-sink.ts'

/** Posts JSON to one URL. Resolves with the HTTP status of the answer; rejects when there is no answer. */
export type PostEvents = (body: string, signal: AbortSignal) => Promise<number>

export interface WebhookLimits {
  /** Events that wait in memory. Default 10,000. */
  readonly queuedEvents?: number
  /** Milliseconds for one request. Default 10 s. */
  readonly timeoutMs?: number
}

/** Sends events as an `EventList` of audit.k8s.io/v1, in batches. */
export function webhookSink(
  context: SinkContext,
  post: PostEvents,
  { queuedEvents = 10_000, timeoutMs = 10_000 }: WebhookLimits = {},
): BufferedSink {
  const { clock } = context
  return new BufferedSink({
    ...context,
    name: 'webhook',
    deliver: (lines, signal) => deliver({ clock, post, timeoutMs }, lines, signal),
    queue: { lines: queuedEvents, bytes: 64 << 20 },
    batch: { lines: 400, bytes: 8 << 20 },
    gatherMs: 1000,
    retry: { baseMs: 1000, maxMs: 30_000, attempts: 10 },
    closeMs: 2000,
  })
}

interface Webhook {
  readonly clock: Pick<Clock, 'after'>
  readonly post: PostEvents
  readonly timeoutMs: number
}

async function deliver(
  { clock, post, timeoutMs }: Webhook,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<Delivery> {
  const timeout = new AbortController()
  const cancel = clock.after(timeoutMs, () =>
    timeout.abort(new Error(`no answer in ${timeoutMs} ms`)),
  )
  try {
    const code = await post(eventList(lines), AbortSignal.any([signal, timeout.signal]))
    return code >= 200 && code < 300 ? { lines: lines.length } : refusal(code)
  } catch (error) {
    return { lines: 0, failure: { error, canRetry: true } }
  } finally {
    cancel()
  }
}

/** Status codes after which another attempt may succeed, besides 500 and above. */
const RETRIED = new Set([401, 403, 404, 408, 429])

function refusal(code: number): Delivery {
  const error = new Error(`the audit webhook answered ${code}`)
  return { lines: 0, failure: { error, canRetry: code >= 500 || RETRIED.has(code) } }
}

/** An `EventList` of events that are serialised already. */
function eventList(lines: readonly string[]): string {
  return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${lines.join(',')}]}`
}
