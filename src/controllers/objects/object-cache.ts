import { compareVersions } from '../../client/resource-version.ts'
import type { ObjectMeta } from './object-meta.ts'
import type { Collection } from './view.ts'

export interface ObjectChange<T> {
  readonly key: string
  readonly before: T | undefined
  readonly after: T | undefined
}

/** A write of ours that the watch has not shown yet; `base` is what it has shown. */
interface Unseen<T> {
  readonly written: T | undefined
  readonly base: T | undefined
}

interface Identified {
  readonly meta: ObjectMeta
}

/**
 * One collection, as far as the watch has told and as far as we have written.
 * What a write of ours brought about is known at once, and older news of the
 * watch does not undo it: nothing is ever decided on a state from before one's
 * own writes. A complete list ends all doubt.
 */
export class ObjectCache<T extends Identified> implements Collection<T> {
  readonly #groupsOf: (object: T) => readonly string[]
  readonly #objects = new Map<string, T>()
  readonly #groups = new Map<string, Map<string, T>>()
  readonly #unseen = new Map<string, Unseen<T>>()

  constructor(groupsOf: (object: T) => readonly string[]) {
    this.#groupsOf = groupsOf
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(): Iterable<T> {
    return this.#objects.values()
  }

  group(name: string): Iterable<T> {
    return this.#groups.get(name)?.values() ?? []
  }

  groupSize(name: string): number {
    return this.#groups.get(name)?.size ?? 0
  }

  /** What the watch says; undefined when that is nothing new, or older than a write of ours. */
  watched(key: string, value: T | undefined): ObjectChange<T> | undefined {
    const unseen = this.#unseen.get(key)
    if (unseen === undefined) {
      return value !== undefined && isSame(value, this.#objects.get(key))
        ? undefined
        : this.#set(key, value)
    }
    if (isOlder(value, unseen)) {
      this.#unseen.set(key, { ...unseen, base: value })
      return undefined
    }
    this.#unseen.delete(key)
    return { ...this.#set(key, value), before: unseen.base }
  }

  /** What a write, or a read of a single object, brought. */
  written(key: string, value: T): ObjectChange<T> | undefined {
    const base = this.#base(key)
    if (base !== undefined && order(value, base) <= 0) return undefined
    this.#unseen.set(key, { written: value, base })
    return this.#set(key, value)
  }

  /** The object with this uid is gone, as the server has said. */
  removed(key: string, uid: string): ObjectChange<T> | undefined {
    if (this.#objects.get(key)?.meta.uid !== uid) return undefined
    const base = this.#base(key)
    if (base === undefined) this.#unseen.delete(key)
    else this.#unseen.set(key, { written: undefined, base })
    return this.#set(key, undefined)
  }

  /** Everything has been listed: what the list shows counts. */
  listed(): readonly ObjectChange<T>[] {
    const doubts = [...this.#unseen]
    this.#unseen.clear()
    return doubts.map(([key, { base }]) => this.#set(key, base))
  }

  #base(key: string): T | undefined {
    return this.#unseen.has(key) ? this.#unseen.get(key)?.base : this.#objects.get(key)
  }

  #set(key: string, after: T | undefined): ObjectChange<T> {
    const before = this.#objects.get(key)
    if (before !== undefined) this.#leaveGroups(key, before)
    if (after === undefined) this.#objects.delete(key)
    else {
      this.#objects.set(key, after)
      for (const name of this.#groupsOf(after)) {
        this.#groups.getOrInsertComputed(name, () => new Map<string, T>()).set(key, after)
      }
    }
    return { key, before, after }
  }

  #leaveGroups(key: string, object: T): void {
    for (const name of this.#groupsOf(object)) {
      const group = this.#groups.get(name)
      group?.delete(key)
      if (group?.size === 0) this.#groups.delete(name)
    }
  }
}

/** Whether `value` is news from before an unseen write. */
function isOlder<T extends Identified>(
  value: T | undefined,
  { written, base }: Unseen<T>,
): boolean {
  if (value === undefined)
    return written !== undefined && base !== undefined && isOther(written, base)
  if (written !== undefined) return order(value, written) < 0
  return base !== undefined && !isOther(value, base)
}

function isOther(a: Identified, b: Identified): boolean {
  return a.meta.uid !== b.meta.uid
}

function isSame(a: Identified, b: Identified | undefined): boolean {
  return a.meta.version !== '' && a.meta.version === b?.meta.version && a.meta.uid === b.meta.uid
}

/** Versions that cannot be compared are taken for newer. */
function order(a: Identified, b: Identified): number {
  return compareVersions(a.meta.version, b.meta.version) ?? 1
}
