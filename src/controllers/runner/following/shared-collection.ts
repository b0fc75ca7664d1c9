import type { Clock } from '../../../lib/clock.ts'
import { isJsonObject } from '../../../lib/json.ts'
import type { CollectionName, Objects } from '../../cache/collections.ts'
import { COLLECTIONS, groupsOf } from '../../cache/collections.ts'
import { Heartbeats } from '../../cache/heartbeats.ts'
import type { ObjectChange } from '../../cache/object-cache.ts'
import { ObjectCache } from '../../cache/object-cache.ts'
import { readMeta } from '../../objects/object-meta.ts'
import type { ObjectFollower } from './object-follower.ts'

/** The cache of one collection, watched once for all controllers. */
export class SharedCollection<K extends CollectionName> {
  readonly cache: ObjectCache<Objects[K]>
  readonly #name: K
  readonly #onChange: (change: ObjectChange<Objects[K]>) => void

  constructor(
    name: K,
    onChange: (change: ObjectChange<Objects[K]>) => void,
    clock: Pick<Clock, 'now'>,
  ) {
    const { heartbeat, totals: totalsOf } = COLLECTIONS[name]
    const heartbeats = heartbeat && new Heartbeats(heartbeat, clock)
    this.cache = new ObjectCache((object) => groupsOf(name, object), { heartbeats, totalsOf })
    this.#name = name
    this.#onChange = onChange
  }

  /** Watches the collection until `signal` is aborted; `onListed` is called after each complete list. */
  follow(follower: ObjectFollower, onListed: () => void, signal: AbortSignal): Promise<unknown> {
    const handlers = {
      changed: (changes: readonly { key: string; value: Objects[K] | undefined }[]) => {
        for (const { key, value } of changes) {
          const change = this.cache.watched(key, value)
          if (change !== undefined) this.#onChange(change)
        }
      },
      listed: (version: string) => {
        this.cache.listed(version).forEach(this.#onChange)
        onListed()
      },
    }
    return follower.follow(this.#name, handlers, signal)
  }

  /** Reports every object as if it had just been created. */
  replay(): void {
    for (const after of this.cache.values()) {
      this.#onChange({ key: after.meta.key, before: undefined, after })
    }
  }

  /** Stores an object from the answer to a write or read; the watch delivers the same state later. */
  learned(raw: unknown): void {
    if (!isJsonObject(raw)) return
    this.cache.written(readMeta(raw).key, COLLECTIONS[this.#name].decode(raw))
  }
}
