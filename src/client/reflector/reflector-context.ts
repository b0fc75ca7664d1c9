import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { ApiClient } from '../http/api-client.ts'
import type { ApiFailure } from '../http/failure.ts'
import type { Query } from '../http/query.ts'
import type { ObjectTracker } from './object-tracker.ts'
import type { ReflectorProgress } from './reflector-state.ts'

/** The resource to follow. */
export interface ReflectorResource {
  /** Path of the collection: `/api/v1/services`. */
  readonly path: string
  /** Label and field selectors. */
  readonly query: Query
  /**
   * Path of the only object of interest. If the collection may not be listed (403, 404), that object is fetched every
   * `pollMs` instead.
   */
  readonly single?: string
  /** Whether a 404 ends the reflector: the server does not have this resource (any more). */
  readonly endWhenMissing?: boolean
}

/** The times of a reflector, in milliseconds where the name ends with `Ms`. */
export interface ReflectorTiming {
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  /**
   * The upper limit of delays while nothing answers at the server's address. This is low, because such attempts do not
   * load the server.
   */
  readonly awayMaxMs: number
  /** Bounds, in seconds, of a watch's random `timeoutSeconds`. */
  readonly watchSeconds: readonly [min: number, max: number]
  /** The time that a watch may last longer than its `timeoutSeconds`. */
  readonly slackMs: number
  /** If a streaming list sends no event for this time, pages are used instead. */
  readonly initialIdleMs: number
  /** The time within which a streaming list must be complete. */
  readonly initialTotalMs: number
  /** The time between two fetches of `single`. */
  readonly pollMs: number
}

/**
 * A server that answers with errors may be overloaded: up to ten seconds pass before the next attempt. Attempts cost
 * nothing while the server is away, so its return is noticed within three seconds. The delays are random, so that the
 * requests of 5,000 nodes are spread over that time.
 */
export const DEFAULT_TIMING: ReflectorTiming = {
  backoffBaseMs: 200,
  backoffMaxMs: 10_000,
  awayMaxMs: 2_500,
  watchSeconds: [300, 600],
  slackMs: 30_000,
  initialIdleMs: 2_000,
  initialTotalMs: 120_000,
  pollMs: 60_000,
}

/** Why an object or event could not be read: it is too long, is not JSON or not an event, or has no usable name. */
export type LossReason = 'oversized' | 'garbage' | 'nameless'

/** The API verbs that are used to follow a collection. */
export type ReflectorVerb = 'list' | 'watch' | 'get'

/** What the parts of one reflector share. */
export interface ReflectorContext<T, Problem> {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly timing: ReflectorTiming
  readonly resource: ReflectorResource
  readonly tracker: ObjectTracker<T, Problem>
  readonly progress: ReflectorProgress
  /** Passes the tracker's changes to `onChanges`. */
  deliver(): void
  onLost(reason: LossReason): void
  onFailure(failure: ApiFailure, verb: ReflectorVerb): void
  onConnected(): void
  /** Called when a list is complete; a watch continues from `version`. */
  listed(version: string | undefined): void
}
