import { SortedKeys } from '../../lib/sorted-keys.ts'
import type { StoredEntry, StoreEvent } from '../../storage/store.ts'
import type { Resource } from '../resource/resource.ts'
import { type Change, type Item, isReadable, readItem, type UnreadableObject } from './item.ts'

export interface WindowLimits {
  /** Changes per resource that a watch can still start from. */
  readonly watchWindowChanges: number
  /** Bytes per resource that these changes may hold. */
  readonly watchWindowBytes: number
}

/** The current objects of one resource in key order, and its recent changes. */
export class ResourceCache {
  readonly window: ChangeWindow
  readonly #resource: Resource
  readonly #keys = new SortedKeys()
  readonly #items = new Map<string, Item>()
  readonly #unreadable = new Map<string, UnreadableObject>()
  readonly #listeners = new Set<() => void>()
  #snapshot: readonly Item[] | undefined
  #revision = 0

  constructor(resource: Resource, limits: WindowLimits) {
    this.#resource = resource
    this.window = new ChangeWindow(limits.watchWindowChanges, limits.watchWindowBytes)
  }

  /** The cache shows the state at this revision of the store. */
  get revision(): number {
    return this.#revision
  }

  /** The stored objects that are not among the items, by key. */
  get unreadable(): ReadonlyMap<string, UnreadableObject> {
    return this.#unreadable
  }

  get size(): number {
    return this.#items.size
  }

  get(key: string): Item | undefined {
    return this.#items.get(key)
  }

  /** Every item in key order; the same array until something changes. */
  snapshot(): readonly Item[] {
    this.#snapshot ??= [...this.#keys.under('')].map((key) => this.#items.get(key)!)
    return this.#snapshot
  }

  /** The items under a key prefix, in key order. */
  under(prefix: string): readonly Item[] {
    const all = prefix === `/${this.#resource.plural}/`
    return all ? this.snapshot() : [...this.#keys.under(prefix)].map((key) => this.#items.get(key)!)
  }

  /** Replaces everything by a list of the store; running watches must start again. */
  load(entries: readonly StoredEntry[], revision: number): void {
    for (const key of this.#items.keys()) this.#keys.delete(key)
    this.#items.clear()
    this.#unreadable.clear()
    for (const entry of entries) {
      const item = this.#read(entry)
      if (item === undefined) continue
      this.#keys.add(entry.key)
      this.#items.set(entry.key, item)
    }
    this.#snapshot = undefined
    this.#revision = revision
    this.window.reset(revision)
    this.#notify()
  }

  /**
   * Applies the store's events of this resource up to `revision`. An object that has become unreadable counts
   * as deleted.
   */
  apply(events: readonly StoreEvent[], revision: number): void {
    for (const event of events) this.#applyOne(event)
    this.#revision = revision
    if (events.length > 0) this.#notify()
  }

  /** Calls `listener` after changes; the returned function ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #applyOne(event: StoreEvent): void {
    const before = this.#items.get(event.key)
    this.#unreadable.delete(event.key)
    const after = event.entry && this.#read(event.entry)
    if (before === undefined && after === undefined) return
    if (after === undefined) {
      this.#items.delete(event.key)
      this.#keys.delete(event.key)
    } else {
      this.#items.set(event.key, after)
      if (before === undefined) this.#keys.add(event.key)
    }
    this.#snapshot = undefined
    this.window.push({ revision: event.revision, before, after, frames: new Map() })
  }

  #read(entry: StoredEntry): Item | undefined {
    const item = readItem(this.#resource, entry)
    if (isReadable(item)) return item
    this.#unreadable.set(entry.key, item)
    return undefined
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

/**
 * The recent changes of one resource, numbered without gaps. Watchers hold a number, not changes; a watcher
 * whose number has left the window has fallen behind.
 */
export class ChangeWindow {
  readonly #maxChanges: number
  readonly #maxBytes: number
  #changes: Change[] = []
  #head = 0
  #first = 0
  #bytes = 0
  #floor = 0

  constructor(maxChanges: number, maxBytes: number) {
    this.#maxChanges = maxChanges
    this.#maxBytes = maxBytes
  }

  /** Number of the oldest change that is kept. */
  get first(): number {
    return this.#first
  }

  /** Number that the next change will have. */
  get next(): number {
    return this.#first + this.#changes.length - this.#head
  }

  /** Watches can start after this revision or any later one. */
  get floor(): number {
    return this.#floor
  }

  at(number: number): Change | undefined {
    return number < this.#first ? undefined : this.#changes[this.#head + number - this.#first]
  }

  push(change: Change): void {
    this.#changes.push(change)
    this.#bytes += sizeOf(change)
    while (this.next - this.#first > this.#maxChanges || this.#bytes > this.#maxBytes) {
      if (this.next - this.#first === 1) return
      this.#dropFirst()
    }
  }

  /** The number of the first change after `revision`; undefined when that change may have left the window. */
  numberAfter(revision: number): number | undefined {
    if (revision < this.#floor) return undefined
    let low = this.#head
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#changes[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return this.#first + low - this.#head
  }

  /** Discards everything: all watchers, even those that were up to date, have fallen behind. */
  reset(floor: number): void {
    this.#first = this.next + 1
    this.#changes = []
    this.#head = 0
    this.#bytes = 0
    this.#floor = floor
  }

  #dropFirst(): void {
    const change = this.#changes[this.#head++]!
    this.#first++
    this.#bytes -= sizeOf(change)
    this.#floor = change.revision
    if (this.#head > 256 && this.#head > this.#changes.length / 2) {
      this.#changes = this.#changes.slice(this.#head)
      this.#head = 0
    }
  }
}

/** The memory of a change: its value, about as much again for its event frame, and overhead. */
function sizeOf(change: Change): number {
  return 2 * (change.after ?? change.before)!.value.length + 500
}
