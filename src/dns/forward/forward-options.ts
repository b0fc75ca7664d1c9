import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { CacheLimits } from './cache/answer-cache.ts'
import type { ForwardObserver } from './forward-observer.ts'
import type { AttemptSchedule } from './upstream/query-upstreams.ts'
import type { Upstream } from './upstream/upstream.ts'

/** Limits of the cache, of attempts, and of questions in flight. */
export interface ForwardLimits extends CacheLimits, AttemptSchedule {
  /** Different questions that upstreams are queried about at once. Each has up to `maxAttempts` sockets. */
  readonly maxInFlight: number
  /** Milliseconds after which a client receives a stale answer, if there is one. */
  readonly staleAfterMs: number
}

/**
 * Defaults. Four attempts 0.8 s apart end before the 5 s after which libc repeats its question, and 1.8 s is what
 * RFC 8767 §5 recommends. Negative answers are kept for 30 s, so that a name that was queried too early appears
 * soon. Two seconds of failure spare a dead upstream (RFC 9520 requires at least one).
 */
export const DEFAULT_LIMITS: ForwardLimits = {
  attemptMs: 800,
  maxAttempts: 4,
  totalMs: 4000,
  maxInFlight: 512,
  maxEntries: 10_000,
  maxBytes: 16 * 1024 * 1024,
  maxTtl: 3600,
  maxNegativeTtl: 30,
  staleMs: 3_600_000,
  staleAfterMs: 1800,
  failureMs: 2000,
}

/** What a forwarder is made of. */
export interface ForwarderOptions {
  /** At least one, the preferred one first. See `parseUpstream`, `readResolvConf` and `refuseLoop`. */
  readonly upstreams: readonly Upstream[]
  readonly limits?: Partial<ForwardLimits>
  readonly observer?: ForwardObserver
  readonly clock?: Clock
  /** Of message ids: must be unpredictable. */
  readonly random?: Pick<Random, 'below'>
}
