import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { BaseRules } from '../netfilter/chains/base-rules.ts'
import type { ChainLocation } from '../netfilter/chains/object.ts'
import { describe as describeShared } from '../netfilter/rule.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { WantedObjects } from '../netfilter/wanted-objects.ts'
import { baseRules } from './base-rules.ts'
import type { PortsByFamily, RedirectPorts } from './forwarder.ts'
import { SETS } from './names.ts'
import { digestRoute, entryIdOf, entryKey, render } from './render.ts'
import type { Route } from './route.ts'
import type { UserspaceSettings } from './settings.ts'

/** For a mode without a forwarder, which only cleans up: the rules are never written. */
const NO_PORTS: RedirectPorts = { pods: 0, others: 0 }

/**
 * Everything that the forwarder and the kernel should hold in this mode. Routes are kept
 * as digests and rendered again when the forwarder gets them.
 */
export class UserspaceProgram implements Program {
  readonly #settings: UserspaceSettings
  readonly #entries = new Map<EntryId, ForwardingEntry>()
  readonly #wanted = new WantedObjects()
  readonly #rules: BaseRules

  /** `ports`: those of a forwarder that gets redirected packets. */
  constructor(settings: UserspaceSettings, ports: PortsByFamily) {
    const { listening } = settings
    this.#settings = settings
    const base = (netfilter: NetfilterSettings) =>
      netfilter.families.map((family) =>
        baseRules(netfilter, family, ports.get(family) ?? NO_PORTS),
      )
    this.#rules = new BaseRules(listening.kind === 'bound' ? [] : base(listening.netfilter))
    this.#wanted.wantBase(this.#rules, SETS)
  }

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(id)
    else this.#entries.set(id, entry)
    const moved = this.#wanted.place(id, entry && render(entry, this.#settings))
    for (const each of [id, ...moved]) this.#wantRoute(each)
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

  /** All entries that are forwarded. */
  entries(): Iterable<ForwardingEntry> {
    return this.#entries.values()
  }

  /** The route of an `entry` key, with the listeners that it was granted; undefined if the key is not wanted. */
  routeOf(key: ObjectKey): Route | undefined {
    const id = entryIdOf(key)
    const entry = this.#entries.get(id)
    const rendered = entry && render(entry, this.#settings)
    if (rendered === undefined) return undefined
    const granted = rendered.claims.filter(({ point }) => this.#wanted.has(id, point))
    const listeners = [...new Map(granted.map(({ point, listener }) => [point, listener])).values()]
    return listeners.length > 0 ? { ...rendered.route, listeners } : undefined
  }

  /** The rules of a chain; undefined when it is not wanted. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.rulesOf(key)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn(place: ChainLocation): readonly ObjectKey[] {
    return this.#rules.jumpsIn(place)
  }

  #wantRoute(id: EntryId): void {
    const key = entryKey(id)
    const route = this.routeOf(key)
    if (route) this.#wanted.want(key, digestRoute(route), id)
    else if (this.#wanted.ownerOf(key) !== undefined) this.#wanted.want(key, undefined)
  }
}

/** What an object is; `rules` counts those of a chain. */
function describe(key: ObjectKey, rules = 0): ObjectDescription {
  return (
    describeShared(key, rules) ?? {
      kind: 'forwarder_route',
      family: key.endsWith('/6') ? 6 : 4,
    }
  )
}
