import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Feed } from '../cache/feed.ts'
import type { Allocator } from '../resource/allocation.ts'
import type { Limits } from './limits.ts'
import type { WatchRegistry } from './watch-registry.ts'
import type { WriteTurns } from './write-turns.ts'

/** The log of events that operators should know of. */
export type OperatorLog = Pick<Logger, 'info' | 'warn'>

/** What every verb works with. */
export interface ServerContext {
  readonly store: Store
  readonly feed: Feed
  readonly clock: Clock
  readonly random: Random
  readonly limits: Limits
  readonly allocator: Allocator
  readonly watches: WatchRegistry
  readonly turns: WriteTurns
  readonly log: OperatorLog
  /** Lasting states that operators should know of. */
  readonly conditions: Conditions
}
