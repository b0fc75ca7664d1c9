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
  readonly clock?: Clock
  readonly random?: Random
  readonly limits?: Partial<Limits>
  readonly log: OperatorLog
  readonly conditions: Conditions
  readonly onError: (error: unknown) => void
}

/** Allocates, and follows what other replicas allocated. */
type FollowingAllocator = Allocator & { readonly pool: Follower }

/** What requests are served with; the caches are empty until the feed starts. */
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
      waitMs: limits.requestTimeout / 4,
    }),
  }
}

function createFeed(
  {
    store,
    clock,
    limits,
    allocator,
    conditions,
  }: Pick<HttpContext, 'store' | 'clock' | 'limits' | 'conditions'> & {
    readonly allocator: FollowingAllocator
  },
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
