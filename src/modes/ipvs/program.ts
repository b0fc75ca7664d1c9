import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import { virtualServerKey } from '../../kernel/ipvs/ipvs.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { digestCount, digestRules, keyOf } from '../netfilter/chains/object.ts'
import type { Place as RulePlace } from '../netfilter/chains/place.ts'
import { describe } from './describe.ts'
import { ROLES, setName } from './names.ts'
import { routeKey, setKey } from './object.ts'
import { needsMark, type Place, PRESENT, type Rendered, render } from './render.ts'
import { chains, jumps } from './scaffolding.ts'
import type { ServerSpec } from './server-spec.ts'
import type { IpvsSettings } from './settings.ts'
import { MarkBook, markPattern } from './shortcut-mark.ts'

interface Placed {
  readonly entry: ForwardingEntry
  readonly points: readonly string[]
  readonly shared: readonly ObjectKey[]
}

/** An entry that wants to be at a point. */
interface Contender {
  readonly owner: EntryId
  readonly rank: Place['rank']
  readonly objects: Place['objects']
}

/**
 * Everything that the kernel should hold in this mode. Real servers are kept as
 * digests and rendered again when they are written.
 */
export class IpvsProgram implements Program {
  readonly #settings: IpvsSettings
  readonly #marks: MarkBook
  readonly #placed = new Map<EntryId, Placed>()
  readonly #points = new Map<string, readonly Contender[]>()
  readonly #owners = new Map<ObjectKey, EntryId>()
  /** All that want an object that may be shared. */
  readonly #holders = new Map<ObjectKey, ReadonlySet<EntryId>>()
  readonly #rules = new Map<ObjectKey, readonly string[]>()
  #changes = new Map<ObjectKey, Digest | undefined>()

  constructor(settings: IpvsSettings) {
    this.#settings = settings
    this.#marks = new MarkBook(markPattern(settings.netfilter))
    for (const family of settings.netfilter.families) this.#addBase(family)
  }

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    const isOurs = entry !== undefined && this.#settings.netfilter.families.includes(entry.family)
    const wanted = isOurs ? entry : undefined
    const moved = wanted && needsMark(wanted) ? this.#marks.assign(id) : this.#marks.release(id)
    this.#place(id, wanted)
    for (const other of moved) this.#place(other, this.#placed.get(other)?.entry)
  }

  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    const changes = this.#changes
    this.#changes = new Map()
    return changes
  }

  ownersOf(key: ObjectKey): readonly EntryId[] {
    const owner = this.#owners.get(key)
    const owners = this.#holders.get(key) ?? (owner === undefined ? [] : [owner])
    return [...owners].toSorted()
  }

  describe(key: ObjectKey): ObjectDescription {
    return describe(key, this.#rules.get(key)?.length)
  }

  /** The mark of a member that has one. */
  markOf(key: ObjectKey): number | undefined {
    const owner = this.#owners.get(key)
    return owner === undefined ? undefined : this.#marks.of(owner)
  }

  /** What a virtual server should be; undefined when it is not wanted. */
  specOf(key: ObjectKey): ServerSpec | undefined {
    const owner = this.#owners.get(key)
    const entry = owner === undefined ? undefined : this.#placed.get(owner)?.entry
    return entry && this.#render(entry).servers.get(key)
  }

  /** The rules of a chain; undefined when it is not wanted. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.get(key)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn({ family, table, chain }: RulePlace): readonly ObjectKey[] {
    return jumps(this.#settings.netfilter, family)
      .filter((jump) => jump.table === table && jump.chain === chain)
      .map(keyOf)
  }

  #render(entry: ForwardingEntry): Rendered {
    return render(entry, this.#settings, this.#marks.of(entry.id))
  }

  #place(id: EntryId, entry: ForwardingEntry | undefined): void {
    const before = this.#placed.get(id)
    const after = entry && this.#render(entry)
    const points = byPoint(after?.places ?? [])
    for (const point of new Set([...(before?.points ?? []), ...points.keys()])) {
      this.#contend(point, id, points.get(point))
    }
    this.#share(id, after?.shared ?? new Map(), before?.shared ?? [])
    if (entry === undefined) this.#placed.delete(id)
    else {
      const shared = [...(after?.shared.keys() ?? [])]
      this.#placed.set(id, { entry, points: [...points.keys()], shared })
    }
  }

  /** Puts an entry's wish for a point in the place of its earlier one, and lets the best win. */
  #contend(point: string, owner: EntryId, place: Place | undefined): void {
    const before = this.#points.get(point) ?? []
    const others = before.filter((contender) => contender.owner !== owner)
    const after = place ? [...others, { owner, ...place }].toSorted(byPrecedence) : others
    if (after.length === 0) this.#points.delete(point)
    else this.#points.set(point, after)
    this.#swap(before[0], after[0])
  }

  #swap(before: Contender | undefined, after: Contender | undefined): void {
    for (const key of before?.objects.keys() ?? []) {
      if (!after?.objects.has(key)) this.#want(key, undefined)
    }
    for (const [key, digest] of after?.objects ?? []) {
      const isSame = before?.owner === after?.owner && before?.objects.get(key) === digest
      if (!isSame) this.#want(key, digest, after?.owner)
    }
  }

  #share(
    owner: EntryId,
    after: ReadonlyMap<ObjectKey, Digest>,
    before: readonly ObjectKey[],
  ): void {
    for (const [key, digest] of after) {
      this.#holders.set(key, new Set([...(this.#holders.get(key) ?? []), owner]))
      this.#want(key, digest, owner)
    }
    for (const key of before) {
      if (after.has(key)) continue
      const others = new Set(this.#holders.get(key))
      others.delete(owner)
      if (others.size > 0) this.#holders.set(key, others)
      else {
        this.#holders.delete(key)
        this.#want(key, undefined)
      }
    }
  }

  #want(key: ObjectKey, digest: Digest | undefined, owner?: EntryId): void {
    this.#changes.set(key, digest)
    if (digest === undefined || owner === undefined) this.#owners.delete(key)
    else this.#owners.set(key, owner)
  }

  #addBase(family: 4 | 6): void {
    const { netfilter } = this.#settings
    for (const role of ROLES) this.#want(setKey(setName(family, role)), PRESENT)
    this.#want(routeKey(family), PRESENT)
    for (const { table, chain, rules } of chains(netfilter, family)) {
      const key = keyOf({ kind: 'chain', family, table, chain })
      this.#rules.set(key, rules)
      this.#want(key, digestRules(rules))
    }
    for (const jump of jumps(netfilter, family)) this.#want(keyOf(jump), digestCount(1))
  }
}

/** The places of one entry; a named address goes before one of the node's that is the same. */
function byPoint(places: readonly Place[]): ReadonlyMap<string, Place> {
  const points = new Map<string, Place>()
  for (const place of places.toSorted((a, b) => b.rank - a.rank)) {
    points.set(virtualServerKey(place.point), place)
  }
  return points
}

function byPrecedence(a: Contender, b: Contender): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  return a.owner < b.owner ? -1 : 1
}
