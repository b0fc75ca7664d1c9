import type { User } from '../../auth/user.ts'
import {
  type Exchange,
  type HandlerResult,
  STREAMING,
  type WaitForOthers,
} from '../request/api-request.ts'
import { type StatusError, tooManyRequests } from '../status/status.ts'
import type { InFlightLimits, RejectionReason, RequestKind } from './in-flight-limits.ts'
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
  serve: (waitForOthers: WaitForOthers) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  const kind: RequestKind = READS.has(request.method ?? 'GET') ? 'readOnly' : 'mutating'
  const requester = requesterOf(request, user)
  const refuse = (reason: RejectionReason): StatusError => {
    const level = requester.isSystem ? 'system' : 'workload'
    metrics.rejected.inc({ request_kind: kind, priority_level: level, reason })
    return tooManyRequests('too many requests at one time, please try again later', 1)
  }
  const slot = await limits.acquire(kind, requester)
  if (typeof slot === 'string') return refuse(slot)
  const waitForOthers: WaitForOthers = async (work) => {
    const rejected = await slot.lend(work)
    return rejected === undefined ? undefined : refuse(rejected)
  }
  let outcome: HandlerResult | undefined
  try {
    outcome = response.destroyed ? STREAMING : await serve(waitForOthers)
    return outcome
  } finally {
    const isBehindAnother = response.socket === null
    if (outcome === STREAMING || response.destroyed || isBehindAnother) slot.release()
    else response.once('close', () => slot.release())
  }
}
