import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { digestCount, digestRules, keyOf } from '../netfilter/chains/object.ts'
import type { ChainLocation } from '../netfilter/chains/place.ts'
import { PRESENT, routeKey, setKey } from '../netfilter/object-key.ts'
import { describe as describeShared } from '../netfilter/rule.ts'
import { WantedObjects } from '../netfilter/wanted-objects.ts'
import { ROLES, setName } from './objects/names.ts'
import { kindOf, serverIdOf } from './objects/object.ts'
import { MarkBook, markPattern } from './objects/short-circuit-mark.ts'
import { needsMark, type Rendered, render } from './render.ts'
import { chains, jumps } from './scaffolding.ts'
import type { ServerSpec } from './servers/server-spec.ts'
import type { IpvsSettings } from './settings.ts'

/**
 * Everything that the kernel should hold in this mode. Real servers are kept as
 * digests and rendered again when they are written.
 */
export class IpvsProgram implements Program {
  readonly #settings: IpvsSettings
  readonly #marks: MarkBook
  readonly #entries = new Map<EntryId, ForwardingEntry>()
  readonly #wanted = new WantedObjects()
  readonly #rules = new Map<ObjectKey, readonly string[]>()

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
    for (const other of moved) this.#place(other, this.#entries.get(other))
  }

  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    return this.#wanted.takeChanges()
  }

  ownersOf(key: ObjectKey): readonly EntryId[] {
    return this.#wanted.ownersOf(key)
  }

  describe(key: ObjectKey): ObjectDescription {
    return describe(key, this.#rules.get(key)?.length)
  }

  /** The entry that an object is made for. */
  entryOf(key: ObjectKey): ForwardingEntry | undefined {
    const owner = this.#wanted.ownerOf(key)
    return owner === undefined ? undefined : this.#entries.get(owner)
  }

  /** The mark of a member that has one. */
  markOf(key: ObjectKey): number | undefined {
    const owner = this.#wanted.ownerOf(key)
    return owner === undefined ? undefined : this.#marks.of(owner)
  }

  /** What a virtual server should be; undefined when it is not wanted. */
  specOf(key: ObjectKey): ServerSpec | undefined {
    const entry = this.entryOf(key)
    return entry && this.#render(entry).servers.get(key)
  }

  /** The rules of a chain; undefined when it is not wanted. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.get(key)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn({ family, table, chain }: ChainLocation): readonly ObjectKey[] {
    return jumps(this.#settings.netfilter, family)
      .filter((jump) => jump.table === table && jump.chain === chain)
      .map(keyOf)
  }

  #render(entry: ForwardingEntry): Rendered {
    return render(entry, this.#settings, this.#marks.of(entry.id))
  }

  #place(id: EntryId, entry: ForwardingEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(id)
    else this.#entries.set(id, entry)
    this.#wanted.place(id, entry && this.#render(entry))
  }

  #addBase(family: 4 | 6): void {
    const { netfilter } = this.#settings
    for (const role of ROLES) this.#wanted.want(setKey(setName(family, role)), PRESENT)
    this.#wanted.want(routeKey(family), PRESENT)
    for (const { table, chain, rules } of chains(netfilter, family)) {
      const key = keyOf({ kind: 'chain', family, table, chain })
      this.#rules.set(key, rules)
      this.#wanted.want(key, digestRules(rules))
    }
    for (const jump of jumps(netfilter, family)) this.#wanted.want(keyOf(jump), digestCount(1))
  }
}

/** What an object is; `rules` counts those of a chain. */
function describe(key: ObjectKey, rules = 0): ObjectDescription {
  if (kindOf(key) === 'vs') return { kind: 'virtual_server', family: serverIdOf(key).family }
  return describeShared(key, rules) ?? { kind: 'relay', family: 4 }
}
