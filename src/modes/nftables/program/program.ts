import type { EntryId, ForwardingEntry } from '../../../forwarding/entry.ts'
import type { Family, IpAddress } from '../../../lib/ip.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../../mode.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { TABLE } from '../keys/names.ts'
import { keyOf, objectOf } from '../keys/object-key.ts'
import { baseChains } from './base-chains.ts'
import { baseSets } from './base-sets.ts'
import { choiceRules } from './choice-chain.ts'
import { type Content, digestOfContent } from './content.ts'
import { type Rendered, render } from './render.ts'
import { clusterAddress } from './routes.ts'

/** The keys of the objects that one entry wants, and of those that it shares with others. */
interface Placed {
  readonly entry: ForwardingEntry
  readonly objects: readonly ObjectKey[]
  readonly shared: readonly ObjectKey[]
}

/**
 * All objects that the kernel should hold. Only digests are kept; elements and rules are rendered again when they are
 * needed, so that memory depends on the number of entries and not on that of their endpoints.
 */
export class NftablesProgram implements Program {
  readonly #settings: NetfilterSettings
  readonly #entries = new Map<EntryId, Placed>()
  readonly #base = new Map<ObjectKey, Content>()
  readonly #wanted = new Map<ObjectKey, Digest>()
  readonly #owners = new Map<ObjectKey, EntryId>()
  /** All entries that want an object, if there are several. The smallest id gets it. */
  readonly #rivals = new Map<ObjectKey, ReadonlySet<EntryId>>()
  /** Number of entries that use a choice chain or have a ClusterIP. */
  readonly #users = new Map<ObjectKey, number>()
  /** The number of rules of each chain. */
  readonly #ruleCounts = new Map<ObjectKey, number>()
  #changes = new Map<ObjectKey, Digest | undefined>()
  #last: { readonly entry: ForwardingEntry; readonly rendered: Rendered } | undefined

  constructor(settings: NetfilterSettings) {
    this.#settings = settings
    for (const family of settings.families) this.#addBase(family)
  }

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    const before = this.#entries.get(id)
    const isServed = entry !== undefined && this.#settings.families.includes(entry.family)
    const rendered = isServed ? this.#render(entry) : undefined
    const shared = entry && rendered ? sharedKeys(entry.family, rendered) : []
    const objects = [...(rendered?.objects.keys() ?? [])]
    if (entry && rendered) this.#entries.set(id, { entry, objects, shared })
    else this.#entries.delete(id)
    for (const [key, content] of rendered?.objects ?? []) this.#claim(key, id, content)
    for (const key of before?.objects ?? []) if (!rendered?.objects.has(key)) this.#leave(key, id)
    for (const key of shared) this.#use(key)
    for (const key of before?.shared ?? []) this.#release(key)
  }

  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    const changes = this.#changes
    this.#changes = new Map()
    return changes
  }

  ownersOf(key: ObjectKey): readonly EntryId[] {
    const owner = this.#owners.get(key)
    if (owner === undefined) return []
    const rivals = this.#rivals.get(key)
    return rivals && objectOf(key).kind === 'set' ? [...rivals] : [owner]
  }

  /** `rules` counts those of the wanted chain. */
  describe(key: ObjectKey): ObjectDescription {
    const { family, kind } = objectOf(key)
    if (kind !== 'chain') return { kind, family }
    return { kind, family, rules: { table: TABLE, count: this.#ruleCounts.get(key) ?? 0 } }
  }

  /** The digest of what an object should be; undefined when it is not wanted. */
  digestOf(key: ObjectKey): Digest | undefined {
    return this.#wanted.get(key)
  }

  /** All wanted objects, of all families. */
  wantedKeys(): Iterable<ObjectKey> {
    return this.#wanted.keys()
  }

  /** All entries of the families that are served. */
  *entries(): Iterable<ForwardingEntry> {
    for (const { entry } of this.#entries.values()) yield entry
  }

  /** The entry from which an object is rendered; undefined if it belongs to no entry or is not wanted. */
  entryOf(key: ObjectKey): ForwardingEntry | undefined {
    const owner = this.#owners.get(key)
    return owner === undefined ? undefined : this.#entries.get(owner)?.entry
  }

  /** What an object should be; undefined when it is not wanted. */
  contentOf(key: ObjectKey): Content | undefined {
    const base = this.#base.get(key)
    if (base) return base
    if (this.#users.has(key)) return this.#shared(key)
    const entry = this.entryOf(key)
    return entry && this.#render(entry).objects.get(key)
  }

  /** Keeps the last result: the objects of an entry are mostly requested one after the other. */
  #render(entry: ForwardingEntry): Rendered {
    if (this.#last?.entry !== entry) {
      this.#last = { entry, rendered: render(entry, this.#settings) }
    }
    return this.#last.rendered
  }

  #claim(key: ObjectKey, id: EntryId, content: Content): void {
    const holder = this.#owners.get(key)
    if (holder !== undefined && holder !== id) {
      this.#rivals.set(key, new Set([...(this.#rivals.get(key) ?? [holder]), id]))
      if (holder < id) return
    }
    this.#owners.set(key, id)
    this.#want(key, content)
  }

  #leave(key: ObjectKey, id: EntryId): void {
    const others = [...(this.#rivals.get(key) ?? [])].filter((other) => other !== id).toSorted()
    if (others.length > 1) this.#rivals.set(key, new Set(others))
    else this.#rivals.delete(key)
    if (this.#owners.get(key) !== id) return
    const [next] = others
    if (next === undefined) {
      this.#owners.delete(key)
      return this.#want(key, undefined)
    }
    this.#owners.set(key, next)
    this.#want(key, this.contentOf(key))
  }

  #use(key: ObjectKey): void {
    const users = this.#users.get(key) ?? 0
    this.#users.set(key, users + 1)
    if (users === 0) this.#want(key, this.#shared(key))
  }

  #release(key: ObjectKey): void {
    const users = (this.#users.get(key) ?? 0) - 1
    if (users > 0) this.#users.set(key, users)
    else {
      this.#users.delete(key)
      this.#want(key, undefined)
    }
  }

  #shared(key: ObjectKey): Content | undefined {
    const { family, kind, name } = objectOf(key)
    if (kind === 'address') {
      return { kind: 'frontend', elements: clusterAddress(name as IpAddress) }
    }
    const rules = choiceRules(name, this.#settings, family)
    return rules && { kind: 'chain', name, spec: {}, rules }
  }

  #want(key: ObjectKey, content: Content | undefined): void {
    if (content?.kind === 'chain') this.#ruleCounts.set(key, content.rules.length)
    else this.#ruleCounts.delete(key)
    const digest = content && digestOfContent(content)
    if (this.#wanted.get(key) === digest) return
    if (digest === undefined) this.#wanted.delete(key)
    else this.#wanted.set(key, digest)
    this.#changes.set(key, digest)
  }

  #addBase(family: Family): void {
    const add = (key: ObjectKey, content: Content) => {
      this.#base.set(key, content)
      this.#want(key, content)
    }
    add(keyOf(family, 'table', TABLE), { kind: 'table' })
    for (const set of baseSets(this.#settings, family)) {
      add(keyOf(family, 'set', set.name), { kind: 'set', ...set })
    }
    for (const chain of baseChains(this.#settings, family)) {
      add(keyOf(family, 'chain', chain.name), { kind: 'chain', ...chain })
    }
  }
}

function sharedKeys(family: Family, { choices, addresses }: Rendered): readonly ObjectKey[] {
  return [
    ...[...choices].map((choice) => keyOf(family, 'chain', choice)),
    ...[...addresses].map((ip) => keyOf(family, 'address', ip)),
  ]
}
