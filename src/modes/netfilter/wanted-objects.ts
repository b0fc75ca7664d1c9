import type { EntryId } from '../../forwarding/entry.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import type { BaseRules } from './chains/base-rules.ts'
import { PRESENT, routeKey, setKey } from './object-key.ts'
import type { RoleSets } from './role-sets.ts'

type Objects = ReadonlyMap<ObjectKey, Digest>

/** What one entry wants at one point: an address, protocol and port. */
export interface PointClaim {
  /** Claims with the same text are for the same point. */
  readonly point: string
  /** 0: the address was named explicitly; 1: it is one of this node's addresses. The lower rank wins. */
  readonly rank: 0 | 1
  readonly objects: Objects
}

/** Everything that one entry wants. */
export interface EntryObjects {
  readonly claims: readonly PointClaim[]
  /** Objects that several entries may want at once. */
  readonly shared: Objects
}

const NOTHING: EntryObjects = { claims: [], shared: new Map() }

interface Contender extends Omit<PointClaim, 'point'> {
  readonly owner: EntryId
}

interface Placed {
  readonly points: readonly string[]
  readonly shared: readonly ObjectKey[]
}

/**
 * The objects that all entries together want. If several claim one point, the lower rank wins, then the smaller id,
 * independent of the order of arrival; when the winner is removed, the next one gets the point.
 */
export class WantedObjects {
  readonly #placed = new Map<EntryId, Placed>()
  readonly #points = new Map<string, readonly Contender[]>()
  readonly #owners = new Map<ObjectKey, EntryId>()
  /** All entries that want an object that may be shared. */
  readonly #holders = new Map<ObjectKey, ReadonlySet<EntryId>>()
  #changes = new Map<ObjectKey, Digest | undefined>()

  /** Replaces what an entry wants; returns the other entries that won or lost a point. */
  place(id: EntryId, { claims, shared }: EntryObjects = NOTHING): ReadonlySet<EntryId> {
    const before = this.#placed.get(id)
    const points = byPoint(claims)
    const moved = new Set<EntryId>()
    for (const point of new Set([...(before?.points ?? []), ...points.keys()])) {
      for (const owner of this.#contend(point, id, points.get(point))) moved.add(owner)
    }
    this.#share(id, shared, before?.shared ?? [])
    if (claims.length + shared.size === 0) this.#placed.delete(id)
    else this.#placed.set(id, { points: [...points.keys()], shared: [...shared.keys()] })
    moved.delete(id)
    return moved
  }

  /** Whether the entry has won the point that it claims. */
  has(id: EntryId, point: string): boolean {
    return this.#points.get(point)?.[0]?.owner === id
  }

  /** Records that an object is wanted, or (no digest) not wanted; without `owner` it belongs to no single entry. */
  want(key: ObjectKey, digest: Digest | undefined, owner?: EntryId): void {
    this.#changes.set(key, digest)
    if (digest === undefined || owner === undefined) this.#owners.delete(key)
    else this.#owners.set(key, owner)
  }

  /** Wants what no entry is needed for: these rules, and of their families the policy route and all sets. */
  wantBase(rules: BaseRules, sets: Readonly<Record<Family, Pick<RoleSets<never>, 'kept'>>>): void {
    for (const family of rules.families) {
      for (const { name } of sets[family].kept) this.want(setKey(name), PRESENT)
      this.want(routeKey(family), PRESENT)
    }
    for (const [key, digest] of rules.digests) this.want(key, digest)
  }

  /** The objects that changed since the last call, with their digests; undefined for those not wanted any more. */
  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    const changes = this.#changes
    this.#changes = new Map()
    return changes
  }

  /** The entry that an object belongs to; for a shared object the last entry that wanted it. */
  ownerOf(key: ObjectKey): EntryId | undefined {
    return this.#owners.get(key)
  }

  /** All entries that want an object, by id. */
  ownersOf(key: ObjectKey): readonly EntryId[] {
    const owner = this.#owners.get(key)
    const owners = this.#holders.get(key) ?? (owner === undefined ? [] : [owner])
    return [...owners].toSorted()
  }

  /** Gives the point to the best claim; returns the previous and the new owner if they differ. */
  #contend(point: string, owner: EntryId, claim: PointClaim | undefined): readonly EntryId[] {
    const before = this.#points.get(point) ?? []
    const others = before.filter((contender) => contender.owner !== owner)
    const after = claim ? [...others, { owner, ...claim }].toSorted(byPrecedence) : others
    if (after.length === 0) this.#points.delete(point)
    else this.#points.set(point, after)
    const [[loser], [winner]] = [before, after]
    this.#swap(loser, winner)
    if (loser?.owner === winner?.owner) return []
    return [loser, winner].flatMap((each) => each?.owner ?? [])
  }

  #swap(before: Contender | undefined, after: Contender | undefined): void {
    for (const key of before?.objects.keys() ?? []) {
      if (!after?.objects.has(key)) this.want(key, undefined)
    }
    for (const [key, digest] of after?.objects ?? []) {
      const isSame = before?.owner === after?.owner && before?.objects.get(key) === digest
      if (!isSame) this.want(key, digest, after?.owner)
    }
  }

  #share(owner: EntryId, after: Objects, before: readonly ObjectKey[]): void {
    for (const [key, digest] of after) {
      this.#holders.set(key, new Set([...(this.#holders.get(key) ?? []), owner]))
      this.want(key, digest, owner)
    }
    for (const key of before) {
      if (after.has(key)) continue
      const others = new Set(this.#holders.get(key))
      others.delete(owner)
      if (others.size > 0) this.#holders.set(key, others)
      else {
        this.#holders.delete(key)
        this.want(key, undefined)
      }
    }
  }
}

/** The claims of one entry by point; an explicit address wins over an equal address of the node. */
function byPoint(claims: readonly PointClaim[]): ReadonlyMap<string, PointClaim> {
  const sorted = claims.toSorted((a, b) => b.rank - a.rank)
  return new Map(sorted.map((claim) => [claim.point, claim]))
}

function byPrecedence(a: Contender, b: Contender): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  return a.owner < b.owner ? -1 : 1
}
