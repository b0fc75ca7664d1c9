import { type Clock, sleep } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { RevisionRefusal, Store, StoredEntry, StoreEvent } from '../../storage/store.ts'
import {
  type ObjectReader,
  type Resource,
  storageKey,
  storagePrefix,
} from '../resource/resource.ts'
import type { Item, UnreadableObject } from './item.ts'
import { ResourceCache, type WindowLimits } from './resource-cache.ts'

/** Follows changes of the store, for state other than the cached resources. */
export interface Follower {
  load(entries: readonly StoredEntry[]): void
  apply(event: StoreEvent): void
}

interface FeedOptions extends WindowLimits {
  readonly store: Store
  readonly clock: Clock
  readonly resources: readonly Resource[]
  /** By the first part of the keys that each follows: `ROOT` of `/ROOT/…`. */
  readonly followers: Readonly<Record<string, Follower>>
  readonly onError: (error: unknown) => void
  /** Receives all unreadable objects whenever their set changes. */
  readonly onUnreadable: (all: readonly UnreadableObject[]) => void
}

/** What code that only reads the caches needs of the context. */
export interface CacheReader {
  readonly feed: Pick<Feed, 'cache'>
}

/** Milliseconds between a failure of the store and the next attempt. */
const RETRY_MS = 1000

/**
 * One watch of the store, distributed to one cache for each resource. Because it covers all keys, its revision
 * is that of all caches.
 */
export class Feed {
  readonly caches: ReadonlyMap<string, ResourceCache>
  readonly #options: FeedOptions
  readonly #abort = new AbortController()
  readonly #waiting = new Set<() => void>()
  #revision = 0
  #reported: ReadonlySet<string> = new Set()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: FeedOptions) {
    this.#options = options
    this.caches = new Map(
      options.resources.map((resource) => [resource.plural, new ResourceCache(resource, options)]),
    )
  }

  /** Every cache shows the store's state at this revision. */
  get revision(): number {
    return this.#revision
  }

  /** The stored objects that cannot be read, of all resources. */
  get unreadable(): readonly UnreadableObject[] {
    return [...this.caches.values()].flatMap((cache) => [...cache.unreadable.values()])
  }

  cache(resource: Pick<Resource, 'plural'>): ResourceCache {
    return this.caches.get(resource.plural)!
  }

  /** Loads the caches and follows the store until `stop`. */
  async start(): Promise<void> {
    const revision = await this.#load()
    const newest = await this.#options.store.revision()
    this.#ended = this.#follow(revision)
    await this.until(newest, Number.POSITIVE_INFINITY)
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    this.#wake()
    await this.#ended
  }

  /** Resolves to true once the caches show `revision`, to false after `timeoutMs` or when the feed is stopped. */
  async until(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision >= revision) return true
    let expired = false
    const cancel = Number.isFinite(timeoutMs)
      ? this.#options.clock.after(timeoutMs, () => {
          expired = true
          this.#wake()
        })
      : () => undefined
    while (this.#revision < revision && !expired && !this.#abort.signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    cancel()
    return this.#revision >= revision
  }

  async #follow(from: number): Promise<void> {
    let revision: number | undefined = from
    const { signal } = this.#abort
    while (!signal.aborted) {
      try {
        revision ??= await this.#load()
        await this.#read(revision)
      } catch (error) {
        this.#options.onError(error)
        await sleep(this.#options.clock, RETRY_MS, signal)
      }
      revision = undefined
    }
  }

  /** Reads one watch of the store until it ends. */
  async #read(after: number): Promise<void> {
    const { store } = this.#options
    for await (const batch of store.watch({ prefix: '/', after, signal: this.#abort.signal })) {
      if (batch.refused !== undefined) return
      this.#distribute(batch.events, batch.revision)
    }
    // Without a refusal, a watch ends only when the store was closed or the feed stopped: nothing follows.
    this.#abort.abort()
  }

  #distribute(events: readonly StoreEvent[], revision: number): void {
    const byRoot = Map.groupBy(events, (event) => rootOf(event.key))
    for (const [root, cache] of this.caches) {
      cache.apply(byRoot.get(root) ?? [], revision)
    }
    for (const [root, follower] of Object.entries(this.#options.followers)) {
      for (const event of byRoot.get(root) ?? []) follower.apply(event)
    }
    this.#advance(revision)
  }

  /**
   * Loads everything at one revision: as far before the newest as a window reaches, so that old watches can
   * resume, but not before a revision that was already shown.
   */
  async #load(): Promise<number> {
    const { store, watchWindowChanges, followers } = this.#options
    const newest = await store.revision()
    const revision = Math.min(newest, Math.max(this.#revision, newest - watchWindowChanges))
    let page = await store.list({ prefix: '/', revision })
    if (page.refused !== undefined) page = await store.list({ prefix: '/', revision: page.oldest })
    if (page.refused !== undefined) page = await store.list({ prefix: '/' })
    if (page.refused !== undefined) throw storeRefuses(page)
    const byRoot = Map.groupBy(page.entries, (entry) => rootOf(entry.key))
    for (const [root, cache] of this.caches) {
      cache.load(byRoot.get(root) ?? [], page.revision)
    }
    for (const [root, follower] of Object.entries(followers)) follower.load(byRoot.get(root) ?? [])
    this.#advance(page.revision)
    return page.revision
  }

  /** Reports each unreadable object once as an error, and the whole set whenever it changes. */
  #reportUnreadable(): void {
    const before = this.#reported
    const all = this.unreadable
    const now = new Map(all.map((one) => [`${one.key} ${one.revision}`, one]))
    if (now.size === before.size && [...now.keys()].every((id) => before.has(id))) return
    this.#reported = new Set(now.keys())
    for (const [id, { error }] of now) if (!before.has(id)) this.#options.onError(error)
    this.#options.onUnreadable(all)
  }

  #advance(revision: number): void {
    this.#revision = revision
    this.#reportUnreadable()
    this.#wake()
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }
}

/** The first part of a key: `pods` of `/pods/default/web`. */
function rootOf(key: string): string {
  return key.slice(1, key.indexOf('/', 1))
}

function storeRefuses(refusal: RevisionRefusal): NodeProxyError {
  const { refused, oldest, newest } = refusal
  return new NodeProxyError(
    'NP_APISERVER_STORE_HISTORY',
    `the store refuses a list of its newest revision (${refused}; it has ${oldest} to ${newest})`,
    { hint: 'the list is retried; if this error repeats, the store is damaged' },
  )
}

/** Decodes objects from the caches for the code of kinds, which has no other access to the server. */
export function objectReader({ feed }: CacheReader): ObjectReader {
  return {
    get: (resource, namespace, name) => {
      const item = feed.cache(resource).get(storageKey(resource, namespace, name))
      return item === undefined ? undefined : decoded(item)
    },
    list: (resource, namespace) =>
      feed.cache(resource).under(storagePrefix(resource, namespace)).values().map(decoded),
    unreadable: (resource) => feed.cache(resource).unreadable.keys(),
  }
}

function decoded({ value }: Item): JsonObject {
  return JSON.parse(value.toString()) as JsonObject
}
