import { type Clock, systemClock } from '../../lib/clock.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { ALLOCATIONS } from '../allocation/allocation-keys.ts'
import { Feed, type Follower } from '../cache/feed.ts'
import { reportUnreadable } from '../cache/unreadable.ts'
import { defaultLimits, type Limits } from '../context/limits.ts'
import type { OperatorLog } from '../context/server-context.ts'
import { WatchRegistry } from '../context/watch-registry.ts'
import { WriteTurns } from '../context/write-turns.ts'
import { InFlightLimits } from '../flow-control/in-flight-limits.ts'
import { Lifecycle } from '../health/lifecycle.ts'
import { catalogue } from '../kinds/catalogue.ts'
import type { Allocator } from '../resource/allocation.ts'
import type { HttpContext } from './http-context.ts'

export interface HttpContextOptions {
  readonly store: Store
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Default: the system's source of randomness. */
  readonly random?: Random
  /** Replaces single limits of `defaultLimits`. */
  readonly limits?: Partial<Limits>
  readonly log: OperatorLog
  readonly conditions: Conditions
  /** Receives failures of the feed, which fills the caches; it starts again. */
  readonly onError: (error: unknown) => void
}

/** The part of the request timeout that a request may wait for a concurrency slot. */
const WAIT_SHARE = 1 / 4

/** An allocator whose pool learns from the feed which addresses and ports other replicas allocated. */
type FollowingAllocator = Allocator & { readonly pool: Follower }

/** The context of all requests of a server. Its caches are empty until the feed starts. */
export function createHttpContext<A extends FollowingAllocator>(
  options: HttpContextOptions,
  allocator: A,
): HttpContext & { readonly allocator: A } {
  const { store, log, conditions, clock = systemClock, random = systemRandom } = options
  const limits = { ...defaultLimits, ...options.limits }
  const shared = { store, clock, random, limits, allocator, log, conditions }
  return {
    ...shared,
    feed: createFeed(shared, options.onError),
    watches: new WatchRegistry(limits.watches),
    turns: new WriteTurns(),
    lifecycle: new Lifecycle(),
    inFlight: new InFlightLimits({
      clock,
      inFlight: { readOnly: limits.requestsInFlight, mutating: limits.mutatingRequestsInFlight },
      waitMs: limits.requestTimeout * WAIT_SHARE,
    }),
  }
}

interface FeedContext extends Pick<HttpContext, 'store' | 'clock' | 'limits' | 'conditions'> {
  readonly allocator: FollowingAllocator
}

function createFeed(
  { store, clock, limits, allocator, conditions }: FeedContext,
  onError: (error: unknown) => void,
): Feed {
  return new Feed({
    ...limits,
    store,
    clock,
    resources: catalogue,
    followers: { [ALLOCATIONS]: allocator.pool },
    onError,
    onUnreadable: (all) => reportUnreadable(conditions, all),
  })
}
