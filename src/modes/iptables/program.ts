import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { SetType } from '../../kernel/ipset/sets.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { BaseRules } from '../netfilter/chains/base-rules.ts'
import { type ChainLocation, digestRules, keyOf, objectOf } from '../netfilter/chains/object.ts'
import { kindOf, nameOf, PRESENT, setKey } from '../netfilter/object-key.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { baseRules } from './base-rules.ts'
import { type DispatchKey, DispatchTree } from './dispatch-tree.ts'
import { CHAIN, DISPATCH, type OwnTable, PREFIX, rankOf, serviceChain } from './names.ts'
import { type Dispatch, type Rendered, render } from './render.ts'

/** What one entry has in the kernel: keys of its chains and sets, and its destinations in the trees. */
interface EntryObjects {
  readonly entry: ForwardingEntry
  readonly keys: readonly ObjectKey[]
  readonly dispatches: readonly { id: string; key: DispatchKey; nodePort: boolean }[]
}

/**
 * All chains, jumps and sets that the kernel should hold. Rules are kept as
 * digests and rendered again when they are needed, so that memory follows the
 * number of Services and not the size of their rules.
 */
export class IptablesProgram implements Program {
  readonly rankOf = rankOf
  readonly #settings: NetfilterSettings
  readonly #entries = new Map<EntryId, EntryObjects>()
  /** The entry of each chain. */
  readonly #owners = new Map<ObjectKey, EntryId>()
  /** The entries of each set: entries that share their clients share a set. */
  readonly #setOwners = new Map<ObjectKey, Set<EntryId>>()
  readonly #trees: ReadonlyMap<Family, Trees>
  readonly #base: BaseRules
  readonly #ruleCounts = new Map<ObjectKey, number>()
  #changes = new Map<ObjectKey, Digest | undefined>()

  constructor(settings: NetfilterSettings) {
    this.#settings = settings
    this.#trees = new Map(settings.families.map((family) => [family, new Trees()]))
    this.#base = new BaseRules(settings.families.map((family) => baseRules(settings, family)))
    for (const [key, digest] of this.#base.digests) this.#changes.set(key, digest)
  }

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    const before = this.#entries.get(id)
    const after = entry && this.#trees.has(entry.family) ? render(entry, this.#settings) : undefined
    const trees = this.#trees.get(entry?.family ?? before?.entry.family ?? 4)
    const kept = new Set(after?.dispatches.map((dispatch) => dispatch.id))
    for (const dispatch of before?.dispatches ?? []) {
      if (!kept.has(dispatch.id)) trees?.remove(dispatch)
    }
    for (const dispatch of after?.dispatches ?? []) trees?.add(dispatch)
    const wanted = entry && after ? this.#recordWanted(entry, after) : []
    this.#dropUnwanted(before, new Set(wanted))
    if (entry === undefined || after === undefined) this.#entries.delete(id)
    else
      this.#entries.set(id, { entry, keys: wanted, dispatches: after.dispatches.map(withoutRules) })
  }

  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    for (const [family, trees] of this.#trees)
      for (const table of ['nat', 'filter'] as const)
        for (const chain of trees.takeChanged(table)) {
          const rules = trees.rules(table, chain)
          const key = keyOf({ kind: 'chain', family, table, chain })
          this.#setChain(key, rules)
        }
    const changes = this.#changes
    this.#changes = new Map()
    return changes
  }

  ownersOf(key: ObjectKey): readonly EntryId[] {
    if (kindOf(key) === 'set') return [...(this.#setOwners.get(key) ?? [])]
    const owner = this.#owners.get(key)
    return owner === undefined ? [] : [owner]
  }

  /** The entry, or one of the entries, that a chain or set belongs to; undefined: it belongs to no single entry, or is not wanted. */
  entryOf(key: ObjectKey): ForwardingEntry | undefined {
    const [owner] = this.ownersOf(key)
    return owner === undefined ? undefined : this.#entries.get(owner)?.entry
  }

  /** Everything that is forwarded. */
  *entries(): Iterable<ForwardingEntry> {
    for (const { entry } of this.#entries.values()) yield entry
  }

  /** The nat chains with the DNAT rules of an entry: of its pool *cluster* (C) and *local* (L). One that is not needed does not exist. */
  poolChainsOf({ id, family }: ForwardingEntry): readonly ObjectKey[] {
    return (['C', 'L'] as const).map((kind) =>
      keyOf({ kind: 'chain', family, table: 'nat', chain: serviceChain(kind, id) }),
    )
  }

  /** The rules of a chain as they should be; undefined when the chain is not wanted. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    const fixed = this.#base.rulesOf(key)
    if (fixed) return fixed
    if (kindOf(key) === 'set') return undefined
    const { kind, family, table, chain } = objectOf(key)
    if (kind !== 'chain') return undefined
    const entry = this.entryOf(key)
    if (entry) return render(entry, this.#settings).chains.get(chain)
    return table === 'mangle' ? undefined : this.#trees.get(family)?.rules(table, chain)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn(place: ChainLocation): readonly ObjectKey[] {
    return this.#base.jumpsIn(place)
  }

  /** The type with which a set is created; undefined when the set is not wanted. */
  setTypeOf(key: ObjectKey): SetType | undefined {
    const entry = this.entryOf(key)
    return entry && render(entry, this.#settings).sets.get(nameOf(key))
  }

  /** `rules` counts those of the wanted chain; a jump counts as one. */
  describe(key: ObjectKey): ObjectDescription {
    if (kindOf(key) === 'set') return { kind: 'set', family: undefined }
    const { kind, family, table } = objectOf(key)
    const count =
      kind === 'jump' ? 1 : (this.#base.rulesOf(key)?.length ?? this.#ruleCounts.get(key) ?? 0)
    return { kind, family, rules: { table, count } }
  }

  #setChain(key: ObjectKey, rules: readonly string[] | undefined): void {
    this.#changes.set(key, rules && digestRules(rules))
    if (rules === undefined) this.#ruleCounts.delete(key)
    else this.#ruleCounts.set(key, rules.length)
  }

  #recordWanted(entry: ForwardingEntry, { chains, sets }: Rendered): ObjectKey[] {
    const keys: ObjectKey[] = []
    for (const name of sets.keys()) {
      const key = setKey(name)
      keys.push(key)
      this.#changes.set(key, PRESENT)
      const owners = this.#setOwners.get(key)
      if (owners === undefined) this.#setOwners.set(key, new Set([entry.id]))
      else owners.add(entry.id)
    }
    for (const [chain, rules] of chains) {
      const key = keyOf({ kind: 'chain', family: entry.family, table: 'nat', chain })
      keys.push(key)
      this.#owners.set(key, entry.id)
      this.#setChain(key, rules)
    }
    return keys
  }

  #dropUnwanted(before: EntryObjects | undefined, wanted: ReadonlySet<ObjectKey>): void {
    if (before === undefined) return
    for (const key of before.keys) {
      if (wanted.has(key)) continue
      const owners = this.#setOwners.get(key)
      owners?.delete(before.entry.id)
      if (owners !== undefined && owners.size > 0) continue
      this.#setOwners.delete(key)
      this.#owners.delete(key)
      this.#setChain(key, undefined)
    }
  }
}

function withoutRules({
  id,
  key,
  nodePort,
}: Rendered['dispatches'][number]): EntryObjects['dispatches'][number] {
  return { id, key, nodePort }
}

/** The four dispatch trees of one family: by address and by node port, in nat and in filter. */
class Trees {
  readonly #trees: Readonly<
    Record<OwnTable, { readonly vips: DispatchTree; readonly ports: DispatchTree }>
  >

  constructor() {
    const vips = (root: string) => new DispatchTree(root, PREFIX + DISPATCH.vips)
    const ports = (root: string) => new DispatchTree(root, PREFIX + DISPATCH.nodePorts)
    this.#trees = {
      nat: { vips: vips(CHAIN.vips), ports: ports(CHAIN.nodePorts) },
      filter: { vips: vips(CHAIN.filterVips), ports: ports(CHAIN.filterNodePorts) },
    }
  }

  add(dispatch: Dispatch): void {
    this.#replace(dispatch, dispatch.nat, dispatch.filter)
  }

  remove(dispatch: Pick<Dispatch, 'id' | 'key' | 'nodePort'>): void {
    this.#replace(dispatch, [], [])
  }

  /** Chains of a table whose rules changed since the last call. */
  takeChanged(table: OwnTable): readonly string[] {
    const { vips, ports } = this.#trees[table]
    return [...vips.takeChanged(), ...ports.takeChanged()]
  }

  rules(table: OwnTable, chain: string): readonly string[] | undefined {
    const { vips, ports } = this.#trees[table]
    return vips.rules(chain) ?? ports.rules(chain)
  }

  #replace(
    { id, key, nodePort }: Pick<Dispatch, 'id' | 'key' | 'nodePort'>,
    nat: readonly string[],
    filter: readonly string[],
  ): void {
    const kind = nodePort ? 'ports' : 'vips'
    this.#trees.nat[kind].replace(id, key, nat)
    this.#trees.filter[kind].replace(id, key, filter)
  }
}
