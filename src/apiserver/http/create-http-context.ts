import { type Clock, systemClock } from '../../lib/clock.ts'
import type { PortRange } from '../../lib/port-range.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { ALLOCATIONS } from '../allocation/allocation-keys.ts'
import { Feed } from '../cache/feed.ts'
import { reportUnreadable } from '../cache/unreadable.ts'
import { defaultLimits, type Limits } from '../context/limits.ts'
import type { OperatorLog } from '../context/server-context.ts'
import { WatchRegistry } from '../context/watch-registry.ts'
import { WriteTurns } from '../context/write-turns.ts'
import { InFlightLimits } from '../flow-control/in-flight-limits.ts'
import { Lifecycle } from '../health/lifecycle.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { ServiceAllocator } from '../kinds/service/allocation/service-allocator.ts'
import type { HttpContext } from './http-context.ts'

export interface HttpContextOptions {
  readonly store: Store
  readonly clock?: Clock
  readonly random?: Random
  readonly limits?: Partial<Limits>
  /** One CIDR per address family, the primary one first. Default 10.96.0.0/16. */
  readonly serviceAddressRanges?: readonly string[]
  /** Default 30000–32767. */
  readonly nodePortRange?: PortRange
  readonly log: OperatorLog
  readonly conditions: Conditions
  readonly onError: (error: unknown) => void
}

/** The context with the allocator itself, whose ranges and pool the work beside requests reads. */
export interface CreatedContext extends HttpContext {
  readonly allocator: ServiceAllocator
}

/** What requests are served with; the caches are empty until the feed starts. */
export function createHttpContext(options: HttpContextOptions): CreatedContext {
  const { store, log, conditions, clock = systemClock, random = systemRandom } = options
  const limits = { ...defaultLimits, ...options.limits }
  const allocator = new ServiceAllocator({
    ranges: options.serviceAddressRanges ?? ['10.96.0.0/16'],
    nodePorts: options.nodePortRange ?? { first: 30_000, last: 32_767 },
    random,
  })
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
  }: Pick<CreatedContext, 'store' | 'clock' | 'limits' | 'allocator' | 'conditions'>,
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
