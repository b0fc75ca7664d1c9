import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { kindOf } from '../netfilter/object-key.ts'
import { SetProgram } from '../netfilter/set-program.ts'
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
export class IpvsProgram extends SetProgram {
  readonly #settings: IpvsSettings
  readonly #marks: MarkBook
  readonly #entries = new Map<EntryId, ForwardingEntry>()

  constructor(settings: IpvsSettings) {
    const { netfilter } = settings
    super(
      netfilter.families.map((family) => baseRules(netfilter, family)),
      SETS,
    )
    this.#settings = settings
    this.#marks = new MarkBook(markPattern(netfilter))
  }

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    const isOurs = entry !== undefined && this.#settings.netfilter.families.includes(entry.family)
    const wanted = isOurs ? entry : undefined
    const moved = wanted && needsMark(wanted) ? this.#marks.assign(id) : this.#marks.release(id)
    this.#place(id, wanted)
    for (const other of moved) this.#place(other, this.#entries.get(other))
  }

  /** The entry that an object is made for. */
  entryOf(key: ObjectKey): ForwardingEntry | undefined {
    const owner = this.wanted.ownerOf(key)
    return owner === undefined ? undefined : this.#entries.get(owner)
  }

  /** The mark of a member that has one. */
  markOf(key: ObjectKey): number | undefined {
    const owner = this.wanted.ownerOf(key)
    return owner === undefined ? undefined : this.#marks.of(owner)
  }

  /** What a virtual server should be; undefined when it is not wanted. */
  specOf(key: ObjectKey): ServerSpec | undefined {
    const entry = this.entryOf(key)
    return entry && this.#render(entry).servers.get(key)
  }

  protected describeOwn(key: ObjectKey): ObjectDescription {
    if (kindOf(key) === 'vs') return { kind: 'virtual_server', family: serverIdOf(key).family }
    return { kind: 'relay', family: 4 }
  }

  #render(entry: ForwardingEntry): Rendered {
    return render(entry, this.#settings, this.#marks.of(entry.id))
  }

  #place(id: EntryId, entry: ForwardingEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(id)
    else this.#entries.set(id, entry)
    this.wanted.place(id, entry && this.#render(entry))
  }
}
