import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Store } from '../storage/store.ts'
import type { Conditions } from '../telemetry/health/conditions.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Feed } from './cache/feed.ts'
import type { RequestFlow } from './flow/request-flow.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Limits } from './limits.ts'
import type { ServiceAllocator } from './services/service-allocator.ts'
import type { WriteTurns } from './verbs/write-turns.ts'
import type { WatchRegistry } from './watch/watch-registry.ts'

/** Where operators read what was done that they should know of. */
export type OperatorLog = Pick<Logger, 'info' | 'warn'>

/** What every verb works with. */
export interface ServerContext {
  readonly store: Store
  readonly feed: Feed
  readonly clock: Clock
  readonly random: Random
  readonly limits: Limits
  readonly allocator: ServiceAllocator
  readonly watches: WatchRegistry
  readonly lifecycle: Lifecycle
  readonly flow: RequestFlow
  readonly turns: WriteTurns
  readonly log: OperatorLog
  /** Lasting states that operators should know of. */
  readonly conditions: Conditions
}
