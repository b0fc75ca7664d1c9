import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import type { Change } from '../../client/reflector/object-tracker.ts'
import { createReflector, type Reflector } from '../../client/reflector/reflector.ts'
import type { ReflectorTiming } from '../../client/reflector/reflector-context.ts'
import type { Clock } from '../../lib/clock.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { CollectionName } from '../cache/collection-route.ts'
import { COLLECTIONS, type Objects, pathOf } from '../cache/collections.ts'

/** The callbacks for the changes of a collection. */
export interface FollowHandlers<T> {
  changed(changes: readonly Change<T>[]): void
  /** A list, as of `version`, is complete: each of its objects was passed to `changed`. */
  listed(version: string): void
}

/** Delivers every change of a collection. */
export interface ObjectFollower {
  /** Follows until `signal` is aborted. */
  follow<K extends CollectionName>(
    collection: K,
    handlers: FollowHandlers<Objects[K]>,
    signal: AbortSignal,
  ): Promise<unknown>
  /** Whether every watch is open at this moment. */
  isConnected(): boolean
}

/** See `createObjectFollower`. */
export interface ObjectFollowerOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly timing?: Partial<ReflectorTiming>
  readonly reporter: RequestReporter
}

/** Creates one reflector for each call of `follow`. */
export function createObjectFollower(options: ObjectFollowerOptions): ObjectFollower {
  const { reporter } = options
  const reflectors = new Set<Pick<Reflector, 'state'>>()
  return {
    isConnected: () => [...reflectors].every((one) => one.state().connected),
    follow(collection, handlers, signal) {
      const { decode } = COLLECTIONS[collection]
      const reflector = createReflector<Objects[typeof collection], never>({
        ...options,
        resource: { path: pathOf(collection, ''), query: {} },
        decode: (raw) => ({ ok: true, value: isJsonObject(raw) ? decode(raw) : undefined }),
        onChanges: (changes) => handlers.changed(changes),
        onListed: () => handlers.listed(reflector.state().resourceVersion ?? ''),
        onInvalid: () => undefined,
        onLost: () => undefined,
        onFailure: (failure, verb) => reporter.failed({ verb, resource: collection }, failure),
        onConnected: () => reporter.succeeded(collection),
      })
      reflectors.add(reflector)
      return reflector.run(signal).finally(() => reflectors.delete(reflector))
    },
  }
}
