import type { Exchange } from '../http/send.ts'
import type { ServerMetrics } from '../metrics/server-metrics.ts'
import { type Outcome, STREAMING } from '../request/api-request.ts'
import { tooManyRequests } from '../status/status-errors.ts'
import type { RequestFlow, RequestKind } from './in-flight-limits.ts'
import { requesterOf } from './requester.ts'

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Serves a request when its turn has come, or answers 429. It holds its place
 * until the answer is sent, or until a watch has begun. An answer that waits behind
 * another one of its connection (pipelining) holds none: that one may be a watch.
 */
export async function withSeat(
  flow: RequestFlow,
  metrics: ServerMetrics,
  { request, response }: Exchange,
  serve: () => Promise<Outcome>,
): Promise<Outcome> {
  const kind: RequestKind = READS.has(request.method ?? 'GET') ? 'readOnly' : 'mutating'
  const requester = requesterOf(request)
  const release = await flow.enter(kind, requester)
  if (typeof release === 'string') {
    const level = requester.isSystem ? 'system' : 'workload'
    metrics.rejected.inc({ request_kind: kind, priority_level: level, reason: release })
    return tooManyRequests('too many requests at one time, please try again later', 1)
  }
  let outcome: Outcome | undefined
  try {
    outcome = response.destroyed ? STREAMING : await serve()
    return outcome
  } finally {
    const isBehindAnother = response.socket === null
    if (outcome === STREAMING || response.destroyed || isBehindAnother) release()
    else response.once('close', release)
  }
}
