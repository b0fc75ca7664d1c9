import type { Clock } from '../../lib/clock.ts'
import type { Affects } from '../cache/affects.ts'
import type { CollectionName, Objects } from '../cache/collections.ts'
import type { ObjectChange } from '../cache/object-cache.ts'
import { perCollection } from '../cache/per-collection.ts'
import type { View } from '../cache/view.ts'
import type { Controller } from './controller.ts'
import type { LoopTiming } from './controller-loop.ts'
import { ControllerLoop } from './controller-loop.ts'
import type { ObjectFollower } from './following/object-follower.ts'
import { ObservationPeriod } from './following/observation-period.ts'
import { SharedCollection } from './following/shared-collection.ts'
import type { Leadership } from './leadership.ts'
import type { RunnerObserver } from './observer.ts'
import { createCachedWriter } from './writing/cached-writer.ts'
import type { ObjectWriter } from './writing/object-writer.ts'

/** See `Runner`. */
export interface RunnerOptions {
  readonly controllers: readonly Controller[]
  readonly follower: ObjectFollower
  /** Writes as the account of this name. */
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
 * Runs controllers on one shared view of the cluster. Nothing is reconciled
 * before everything they watch has been listed, nor while another replica
 * leads; a new leader reconciles everything once.
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
    const writeAs = (account: string) =>
      createCachedWriter(writerOf(account), (name) => this.#collections[name])
    const timing = { ...DEFAULT_TIMING, ...options.timing }
    const gate = { isOpen: () => this.#open, since: () => this.#observation.since() }
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

  /** Opens or closes the controllers' work; what changed while it was closed is found by looking. */
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
