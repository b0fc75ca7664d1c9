import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { BaseRules } from '../netfilter/chains/base-rules.ts'
import type { ChainLocation } from '../netfilter/chains/object.ts'
import { kindOf } from '../netfilter/object-key.ts'
import { describe as describeShared } from '../netfilter/rule.ts'
import { WantedObjects } from '../netfilter/wanted-objects.ts'
import { baseRules } from './base-rules.ts'
import { SETS } from './objects/names.ts'
import { serverIdOf } from './objects/object.ts'
import { MarkBook, markPattern } from './objects/short-circuit-mark.ts'
import { needsMark, type Rendered, render } from './render.ts'
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
  readonly #rules: BaseRules

  constructor(settings: IpvsSettings) {
    this.#settings = settings
    this.#marks = new MarkBook(markPattern(settings.netfilter))
    const { netfilter } = settings
    this.#rules = new BaseRules(netfilter.families.map((family) => baseRules(netfilter, family)))
    this.#wanted.wantBase(this.#rules, SETS)
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
    return describe(key, this.#rules.rulesOf(key)?.length)
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
    return this.#rules.rulesOf(key)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn(place: ChainLocation): readonly ObjectKey[] {
    return this.#rules.jumpsIn(place)
  }

  #render(entry: ForwardingEntry): Rendered {
    return render(entry, this.#settings, this.#marks.of(entry.id))
  }

  #place(id: EntryId, entry: ForwardingEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(id)
    else this.#entries.set(id, entry)
    this.#wanted.place(id, entry && this.#render(entry))
  }
}

/** What an object is; `rules` counts those of a chain. */
function describe(key: ObjectKey, rules = 0): ObjectDescription {
  if (kindOf(key) === 'vs') return { kind: 'virtual_server', family: serverIdOf(key).family }
  return describeShared(key, rules) ?? { kind: 'relay', family: 4 }
}
