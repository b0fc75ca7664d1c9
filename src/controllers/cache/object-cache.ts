import { compareVersions, isRewound } from '../../client/reflector/reflector-state.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import type { CollectionName } from './collection-route.ts'
import type { Objects, Totals } from './collections.ts'

/** What a reconcile may read of the cluster. */
export type View = { readonly [K in CollectionName]: Collection<Objects[K]> }

/** A change of one object; `before` is undefined for a new one, `after` for a deleted one. */
export interface ObjectChange<T> {
  readonly key: string
  readonly before: T | undefined
  readonly after: T | undefined
}

/** What a cache keeps in addition to the objects of a collection. */
export interface CacheExtras<T> {
  readonly heartbeats?: Heartbeats<T> | undefined
  readonly tally?: Tally<T> | undefined
}

/** The number of removed objects that are remembered: more than a watch removes while a write waits for its answer. */
const MAX_GONE = 1_000

/**
 * One collection, from the events of the watch and the results of this replica's own writes. The result of a
 * write is visible at once, and an older event of the watch does not undo it, so no decision is based on a
 * state from before an own write. A list confirms or undoes the writes that it includes. A list whose version
 * is below that of an earlier event undoes all writes that it does not contain: the server has lost its
 * history, and perhaps the writes with it.
 */
export class ObjectCache<T extends Identified> implements Collection<T> {
  readonly #groupsOf: (object: T) => readonly string[]
  readonly #objects = new Map<string, T>()
  readonly #groups = new Map<string, Map<string, T>>()
  readonly #heartbeats: Heartbeats<T> | undefined
  readonly #tally: Tally<T> | undefined
  readonly #unseen = new Map<string, UnseenWrite<T>>()
  /** The uids of the last `MAX_GONE` objects that the watch removed. */
  readonly #gone = new Set<string>()
  /** The latest version of the watch or a list. */
  #seenVersion = ''

  constructor(
    groupsOf: (object: T) => readonly string[],
    { heartbeats, tally }: CacheExtras<T> = {},
  ) {
    this.#groupsOf = groupsOf
    this.#heartbeats = heartbeats
    this.#tally = tally
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

  totals(name = ''): ReadonlyMap<string, number> {
    return this.#tally?.totals(name) ?? NO_TOTALS
  }

  heardAt(key: string): number | undefined {
    return this.#heartbeats?.heardAt(key)
  }

  /** Takes an object from the watch. Returns undefined if it is unchanged, or older than an own write. */
  watched(key: string, value: T | undefined): ObjectChange<T> | undefined {
    if (value !== undefined && !isRewound(this.#seenVersion, value.meta.version)) {
      this.#seenVersion = value.meta.version
    }
    const unseen = this.#unseen.get(key)
    if (value === undefined) this.#noteGone(this.#base(key))
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
    return { ...this.#set(key, value), before: unseen.reported }
  }

  /**
   * Takes an object from the result of a write, or of a read of a single object. The result may arrive after the watch has
   * delivered that the object was deleted: then it is gone.
   */
  written(key: string, value: T): ObjectChange<T> | undefined {
    const base = this.#base(key)
    if (base === undefined && this.#gone.has(value.meta.uid)) return undefined
    if (base !== undefined && order(value.meta.version, base) <= 0) return undefined
    const reported = this.#reported(key)
    this.#unseen.set(key, { written: value, base, reported, isListed: false })
    return this.#set(key, value)
  }

  /**
   * Takes the state that a write under way gives an object, before the server has answered. It is replaced by what comes
   * later: from the watch, from another write, or by the returned function, to be called when the write failed.
   */
  assume(key: string, value: T): () => ObjectChange<T> | undefined {
    const before = this.#objects.get(key)
    const previous = this.#unseen.get(key)
    const [base, reported] = [this.#base(key), this.#reported(key)]
    this.#unseen.set(key, { written: value, base, reported, isListed: false, isAssumed: true })
    this.#set(key, value)
    return () => {
      const unseen = this.#unseen.get(key)
      if (unseen?.written !== value) return undefined
      if (previous === undefined) this.#unseen.delete(key)
      else this.#unseen.set(key, { ...previous, base: unseen.base })
      return this.#set(key, before)
    }
  }

  /** Removes the object with this uid, which the server has reported as deleted. */
  removed(key: string, uid: string): ObjectChange<T> | undefined {
    if (this.#objects.get(key)?.meta.uid !== uid) return undefined
    const base = this.#base(key)
    const reported = this.#reported(key)
    if (base === undefined) this.#unseen.delete(key)
    else this.#unseen.set(key, { written: undefined, base, reported, isListed: false })
    return this.#set(key, undefined)
  }

  /**
   * To be called when everything has been listed, as of `version`. Returns the changes from own writes that the
   * list undoes.
   */
  listed(version: string): readonly ObjectChange<T>[] {
    const isOtherEpoch = isRewound(this.#seenVersion, version)
    this.#seenVersion = version
    this.#heartbeats?.listed()
    const changes: ObjectChange<T>[] = []
    for (const [key, unseen] of this.#unseen) {
      if (isOtherEpoch || isIncluded(unseen, version)) {
        this.#unseen.delete(key)
        changes.push(this.#set(key, unseen.base))
      } else this.#unseen.set(key, { ...unseen, isListed: true })
    }
    return changes
  }

  #base(key: string): T | undefined {
    return this.#unseen.has(key) ? this.#unseen.get(key)?.base : this.#objects.get(key)
  }

  #reported(key: string): T | undefined {
    return this.#unseen.has(key) ? this.#unseen.get(key)?.reported : this.#objects.get(key)
  }

  #noteGone(object: T | undefined): void {
    if (object === undefined) return
    const [oldest = ''] = this.#gone
    if (this.#gone.size >= MAX_GONE) this.#gone.delete(oldest)
    this.#gone.add(object.meta.uid)
  }

  #set(key: string, after: T | undefined): ObjectChange<T> {
    const before = this.#objects.get(key)
    this.#heartbeats?.changed(key, before, after)
    this.#tally?.changed(before, after)
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

function isSame(a: Identified, b: Identified | undefined): boolean {
  return a.meta.version !== '' && a.meta.version === b?.meta.version && a.meta.uid === b.meta.uid
}

/** An object with its metadata. */
interface Identified {
  readonly meta: ObjectMeta
}

/** A write of this replica whose event the watch has not delivered yet. */
interface UnseenWrite<T> {
  /** Undefined: a deletion. */
  readonly written: T | undefined
  /** The last state that the watch delivered. */
  readonly base: T | undefined
  /** The last state in a change that was returned: states before the write are delivered and not returned. */
  readonly reported: T | undefined
  /** Whether a list has ended since the write. */
  readonly isListed: boolean
  /** The write is under way, or its answer does not say the version: `written` has that of the state before it. */
  readonly isAssumed?: boolean
}

/** Whether `value`, from the watch, is a state from before the write. */
function isOlder<T extends Identified>(
  value: T | undefined,
  { written, base, isAssumed = false }: UnseenWrite<T>,
): boolean {
  if (value === undefined)
    return written !== undefined && base !== undefined && isOther(written, base)
  if (written !== undefined) return order(value.meta.version, written) < (isAssumed ? 1 : 0)
  return base !== undefined && !isOther(value, base)
}

/**
 * Whether a list at `version` includes the effect of the write: by its version, or because it began after the
 * write, as another list has ended since.
 */
function isIncluded<T extends Identified>(
  { written, isListed, isAssumed = false }: UnseenWrite<T>,
  version: string,
): boolean {
  return isListed || (!isAssumed && written !== undefined && order(version, written) >= 0)
}

/** The order of two versions, negative if the first is older; versions that cannot be compared count as newer. */
function order(version: string, than: Identified): number {
  return compareVersions(version, than.meta.version) ?? 1
}

function isOther(a: Identified, b: Identified): boolean {
  return a.meta.uid !== b.meta.uid
}

/** The present objects of a collection. */
interface Collection<T> {
  get(key: string): T | undefined
  /** The members of a group (see `COLLECTIONS`). */
  group(name: string): Iterable<T>
  groupSize(name: string): number
  values(): Iterable<T>
  /** The sums of what the objects add to the totals of this name, by default the empty one (see `COLLECTIONS`). */
  totals(name?: string): ReadonlyMap<string, number>
  /** When the heartbeat of an object was last seen to change, milliseconds since the epoch; undefined: never. */
  heardAt(key: string): number | undefined
}

/**
 * When the heartbeats of a collection were last seen to change, in milliseconds since the epoch by the clock of
 * this replica, because the time in a heartbeat comes from its sender's clock. Deleted objects are forgotten.
 * Objects of the first list do not count as heartbeats, because they may be of any age.
 */
export class Heartbeats<T> {
  readonly #textOf: (object: T) => string
  readonly #clock: Pick<Clock, 'now'>
  readonly #heardAt = new Map<string, number>()
  #isListed = false

  /** `textOf`: the field that a sender changes with each heartbeat; empty for an object without one. */
  constructor(textOf: (object: T) => string, clock: Pick<Clock, 'now'>) {
    this.#textOf = textOf
    this.#clock = clock
  }

  /** Undefined: no heartbeat was seen. */
  heardAt(key: string): number | undefined {
    return this.#heardAt.get(key)
  }

  /** The first list is complete: changed and new objects count as heartbeats from now on. */
  listed(): void {
    this.#isListed = true
  }

  changed(key: string, before: T | undefined, after: T | undefined): void {
    const text = after === undefined ? '' : this.#textOf(after)
    if (text === '') this.#heardAt.delete(key)
    else if (this.#isListed && (before === undefined || this.#textOf(before) !== text)) {
      this.#heardAt.set(key, this.#clock.now())
    }
  }
}

const NO_TOTALS: ReadonlyMap<string, number> = new Map()

/**
 * Sums over a collection, updated with each change, so that no reconcile has to read all objects. Amounts are
 * whole numbers, so that a sum does not depend on the order of additions. A total to which no object adds is
 * absent. Objects may add to totals of different names, such as those of their node.
 */
export class Tally<T> {
  readonly #totalsOf: (object: T) => Totals
  readonly #nameOf: (object: T) => string
  readonly #sums = new Map<string, Sums>()

  constructor(totalsOf: (object: T) => Totals, nameOf: (object: T) => string = () => '') {
    this.#totalsOf = totalsOf
    this.#nameOf = nameOf
  }

  /** Undefined: no object adds to totals of this name. */
  totals(name: string): ReadonlyMap<string, number> | undefined {
    return this.#sums.get(name)?.amounts
  }

  changed(before: T | undefined, after: T | undefined): void {
    if (before !== undefined) this.#add(before, -1)
    if (after !== undefined) this.#add(after, 1)
  }

  #add(object: T, sign: 1 | -1): void {
    const name = this.#nameOf(object)
    const totals = this.#totalsOf(object)
    if (totals.length === 0) return
    const { amounts, objects } = this.#sums.getOrInsertComputed(name, createSums)
    for (const [key, amount] of totals) {
      const count = (objects.get(key) ?? 0) + sign
      if (count === 0) {
        objects.delete(key)
        amounts.delete(key)
      } else {
        objects.set(key, count)
        amounts.set(key, (amounts.get(key) ?? 0) + sign * amount)
      }
    }
    if (objects.size === 0) this.#sums.delete(name)
  }
}

/** By the names of the totals: their amounts, and the numbers of objects that add to them. */
interface Sums {
  readonly amounts: Map<string, number>
  readonly objects: Map<string, number>
}

function createSums(): Sums {
  return { amounts: new Map(), objects: new Map() }
}
