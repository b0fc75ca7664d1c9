import type { ApiResult } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { arrayAt, isJsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { type CollectionName, perCollection } from '../cache/collection-route.ts'
import { COLLECTIONS, groupsOf, type Objects } from '../cache/collections.ts'
import {
  Heartbeats,
  ObjectCache,
  type ObjectChange,
  Tally,
  type View,
} from '../cache/object-cache.ts'
import type { Affects } from '../cache/selection.ts'
import { readMeta } from '../objects/object-meta.ts'
import { boundPod } from '../objects/pod-object.ts'
import type { Controller } from './controller.ts'
import { ControllerLoop, type LoopTiming } from './controller-loop.ts'
import type { ObjectFollower } from './object-follower.ts'
import type { ObjectWriter } from './object-writer.ts'
import type { RunnerObserver } from './observer.ts'
import type { Bind, EventWrite, Write } from './write.ts'

/** Whether this replica is the one whose controllers write. */
export interface Leadership {
  isLeader(): boolean
  /** Calls `listener` after each change; the returned function stops that. */
  onChange(listener: () => void): () => void
}

/** The leadership of a single replica, which always leads. */
export const alone: Leadership = { isLeader: () => true, onChange: () => () => undefined }

const TICK_MS = 5000
/** If two ticks are this far apart, the machine was suspended or its clock was set. */
const PAUSE_MS = 15_000

/** See `Runner`. */
export interface RunnerOptions {
  readonly controllers: readonly Controller[]
  readonly follower: ObjectFollower
  /** Returns the writer that acts as the account of this name. */
  readonly writerOf: (account: string) => ObjectWriter
  readonly clock: Clock
  readonly leadership: Leadership
  readonly observer: RunnerObserver
  readonly timing?: Partial<LoopTiming>
}

const DEFAULT_TIMING: LoopTiming = {
  backoffBaseMs: 5,
  backoffMaxMs: 60_000,
  workers: 5,
  turnMs: 10,
}

type SharedCollections = { readonly [K in CollectionName]: SharedCollection<K> }

/**
 * Runs controllers on one shared view of the cluster. Nothing is reconciled until everything that they watch
 * has been listed, or while another replica leads. A new leader reconciles everything once.
 */
export class Runner {
  readonly #options: RunnerOptions
  readonly #observation: ObservationPeriod
  readonly #collections: SharedCollections
  readonly #watched: ReadonlySet<CollectionName>
  readonly #unlisted: Set<CollectionName>
  readonly #view: View
  readonly #loops: readonly ControllerLoop[]
  #open = false

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#observation = new ObservationPeriod(options.clock, () => options.follower.isConnected())
    this.#collections = this.#createCollections()
    this.#view = viewOf(this.#collections)
    this.#watched = new Set(options.controllers.flatMap(watchedBy))
    this.#unlisted = new Set(this.#watched)
    const { clock, observer, writerOf } = options
    const isOpen = (): boolean => this.#open
    const writeAs = (account: string) =>
      createCachedWriter(
        writerOf(account),
        (name) => this.#collections[name],
        (write) => this.#assume(write),
      )
    const timing = { ...DEFAULT_TIMING, ...options.timing }
    const gate = { isOpen, since: () => this.#observation.since() }
    const shared = { view: this.#view, clock, observer, timing, ...gate }
    this.#loops = options.controllers.map(
      (controller) =>
        new ControllerLoop({ controller, write: writeAs(controller.account), ...shared }),
    )
  }

  /**
   * Runs until `signal` is aborted and the writes in progress have ended.
   * Rejects only for a bug in a follower.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { leadership, follower } = this.#options
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    const unsubscribe = leadership.onChange(() => this.#gate(either))
    const unwatch = this.#observation.watch()
    const followed = [...this.#watched].map((name) => {
      const listed = (): void => this.#listed(name, either)
      return this.#collections[name].follow(follower, listed, either)
    })
    try {
      await Promise.all(followed)
    } finally {
      unsubscribe()
      unwatch()
      stop.abort()
      this.#open = false
      await Promise.allSettled(followed)
      await Promise.all(this.#loops.map((loop) => loop.stop()))
    }
  }

  #listed(name: CollectionName, signal: AbortSignal): void {
    this.#unlisted.delete(name)
    this.#observation.begin()
    this.#gate(signal)
  }

  /**
   * Starts or pauses reconciling. After a pause every object is treated as new, because changes during the
   * pause were not queued.
   */
  #gate(signal: AbortSignal): void {
    const isLeader = this.#options.leadership.isLeader()
    const open = this.#unlisted.size === 0 && isLeader && !signal.aborted
    if (open === this.#open) return
    this.#open = open
    this.#observation.begin()
    if (open) for (const name of this.#watched) this.#collections[name].replay()
    else for (const loop of this.#loops) loop.rest()
  }

  #affect<K extends CollectionName>(name: K, change: ObjectChange<Objects[K]>): void {
    if (!this.#open) return
    for (const loop of this.#loops) {
      const affects: Affects<Objects[K]> | undefined = loop.controller.watches[name]
      if (affects !== undefined) loop.add(affects(change, this.#view))
    }
  }

  #assume({ meta, nodeName }: Bind): () => void {
    const { cache } = this.#collections.pods
    const pod = cache.get(meta.key)
    if (pod?.meta.version !== meta.version) return () => undefined
    const undo = cache.assume(meta.key, boundPod(pod, nodeName))
    return () => {
      const change = undo()
      if (change !== undefined) this.#affect('pods', change)
    }
  }

  #createCollections(): SharedCollections {
    const create = <K extends CollectionName>(name: K): SharedCollection<K> =>
      new SharedCollection(name, (change) => this.#affect(name, change), this.#options.clock)
    return perCollection(create) as SharedCollections
  }
}

function viewOf(collections: SharedCollections): View {
  return perCollection((name) => collections[name].cache) as View
}

function watchedBy({ watches }: Controller): readonly CollectionName[] {
  return Object.keys(watches) as CollectionName[]
}

/**
 * The period in which this process has watched the cluster without a break; the silence of a node counts from
 * its start. A call of `begin`, a disconnected watch and a jump of the clock (the machine was suspended, or its
 * clock was set) each start a new period.
 */
export class ObservationPeriod {
  readonly #clock: Clock
  readonly #isConnected: () => boolean
  #since: number
  #awakeAt: number

  constructor(clock: Clock, isConnected: () => boolean) {
    this.#clock = clock
    this.#isConnected = isConnected
    this.#since = this.#awakeAt = clock.now()
  }

  /** Starts a new period now. */
  begin(): void {
    this.#since = this.#awakeAt = this.#clock.now()
  }

  /** The start of the period, in milliseconds since the epoch; a broken watch is noticed within five seconds. */
  since(): number {
    const now = this.#clock.now()
    const hasLeapt = now < this.#awakeAt || now - this.#awakeAt > PAUSE_MS
    if (hasLeapt) this.begin()
    this.#awakeAt = now
    return this.#since
  }

  /** Checks for breaks until the returned function is called. */
  watch(): () => void {
    let cancel = (): void => undefined
    const tick = (): void => {
      if (this.#isConnected()) this.since()
      else this.begin()
      cancel = this.#clock.after(TICK_MS, tick)
    }
    tick()
    return () => cancel()
  }
}

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
    const { heartbeat, totals, totalsName } = COLLECTIONS[name]
    const heartbeats = heartbeat && new Heartbeats(heartbeat, clock)
    const tally = totals && new Tally(totals, totalsName)
    this.cache = new ObjectCache((object) => groupsOf(name, object), { heartbeats, tally })
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

/** The cache of one collection, as a writer updates it. */
interface LearningCache {
  learned(raw: unknown): void
  readonly cache: { removed(key: string, uid: string): unknown }
}

/**
 * Whether the answer to a deletion shows that the object is only marked for deletion. For a removed object the
 * server answers with a Status or with the last state, which for a Pod also has a deletionTimestamp.
 */
function isKept(answer: unknown): boolean {
  if (!isJsonObject(answer) || stringAt(answer, 'metadata', 'deletionTimestamp') === '') {
    return false
  }
  const isHeld = arrayAt(answer, 'metadata', 'finalizers').length > 0
  const grace = valueAt(answer, 'metadata', 'deletionGracePeriodSeconds') ?? 0
  return stringAt(answer, 'kind') !== 'Pod' || isHeld || grace !== 0
}

/** Makes a write; resolves to the answer. */
type CachedWrite = (write: Write) => Promise<ApiResult<unknown>>

/** Takes the state that a binding gives its Pod; the returned function takes it back. */
type Assume = (write: Bind) => () => void

/**
 * Makes writes, and updates the caches with their results at once; with that of a binding when it is sent, so that the
 * scheduler need not wait for the answer. After a conflict (another client wrote first, or the caches are behind) it reads the
 * object, so that the next attempt starts from the current state. The deletion of an absent object is a success.
 */
export function createCachedWriter(
  writer: ObjectWriter,
  cacheOf: (collection: CollectionName) => LearningCache,
  assume: Assume,
): CachedWrite {
  function removed(write: Write): void {
    if (write.verb === 'create' || write.verb === 'record') return
    cacheOf(write.collection).cache.removed(write.meta.key, write.meta.uid)
  }

  async function reread(write: Exclude<Write, EventWrite>): Promise<void> {
    const { namespace, name } = write.verb === 'create' ? write : write.meta
    if (name === '') return
    const result = await writer.read(write.collection, namespace, name)
    if (result.ok) cacheOf(write.collection).learned(result.value)
    else if (result.failure.code === 404) removed(write)
  }

  function succeeded(write: Write, answer: unknown): void {
    if (write.verb === 'delete' && !isKept(answer)) removed(write)
    else if (write.verb !== 'record' && write.verb !== 'bind') {
      cacheOf(write.collection).learned(answer)
    }
  }

  return async (write) => {
    const undo = write.verb === 'bind' ? assume(write) : undefined
    const result = await writer.write(write)
    if (result.ok) {
      succeeded(write, result.value)
      return result
    }
    undo?.()
    const { code } = result.failure
    if (code === 404) removed(write)
    if (code === 409 && write.verb !== 'record') await reread(write)
    return code === 404 && write.verb === 'delete' ? { ok: true, value: undefined } : result
  }
}
