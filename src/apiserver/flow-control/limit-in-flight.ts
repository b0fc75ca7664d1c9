import type { User } from '../../auth/user.ts'
import { type Exchange, type HandlerResult, STREAMING } from '../request/api-request.ts'
import { tooManyRequests } from '../status/status.ts'
import type { InFlightLimits, RequestKind } from './in-flight-limits.ts'
import { requesterOf } from './requester.ts'

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Counts the requests that got no slot. */
export interface RejectionMetrics {
  readonly rejected: {
    inc(labels: {
      readonly request_kind: string
      readonly priority_level: string
      readonly reason: string
    }): void
  }
}

/**
 * Serves a request when it has a concurrency slot, or answers 429. The request keeps the slot until its answer
 * is sent, or until a watch has begun. An answer that waits for an earlier one on the same connection
 * (pipelining) does not keep a slot, because the earlier one may be a watch.
 */
export async function limitInFlight(
  limits: InFlightLimits,
  metrics: RejectionMetrics,
  { request, response, user }: Exchange & { readonly user: User },
  serve: () => Promise<HandlerResult>,
): Promise<HandlerResult> {
  const kind: RequestKind = READS.has(request.method ?? 'GET') ? 'readOnly' : 'mutating'
  const requester = requesterOf(request, user)
  const release = await limits.acquire(kind, requester)
  if (typeof release === 'string') {
    const level = requester.isSystem ? 'system' : 'workload'
    metrics.rejected.inc({ request_kind: kind, priority_level: level, reason: release })
    return tooManyRequests('too many requests at one time, please try again later', 1)
  }
  let outcome: HandlerResult | undefined
  try {
    outcome = response.destroyed ? STREAMING : await serve()
    return outcome
  } finally {
    const isBehindAnother = response.socket === null
    if (outcome === STREAMING || response.destroyed || isBehindAnother) release()
    else response.once('close', release)
  }
}
