import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectDescription, ObjectKey, Program } from '../mode.ts'
import { digestCount, digestRules, keyOf } from '../netfilter/chains/object.ts'
import type { ChainLocation } from '../netfilter/chains/place.ts'
import { PRESENT, routeKey, setKey } from '../netfilter/object-key.ts'
import { WantedObjects } from '../netfilter/wanted-objects.ts'
import type { RedirectPorts } from './forwarder.ts'
import { ROLES, setName } from './names.ts'
import { describe, entryIdOf, entryKey } from './object.ts'
import { digestRoute, render } from './render.ts'
import type { Route } from './route.ts'
import { chains, jumps } from './scaffolding.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

/** The ports of a forwarder, for the rules of each family. */
export type PortsByFamily = ReadonlyMap<Family, RedirectPorts>

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
  readonly #rules = new Map<ObjectKey, readonly string[]>()

  /** `ports`: those of a forwarder that gets redirected packets. */
  constructor(settings: UserspaceSettings, ports: PortsByFamily) {
    const { listening } = settings
    this.#settings = settings
    if (listening.kind === 'transparent') this.#addBase(listening, ports)
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
    return describe(key, this.#rules.get(key)?.length)
  }

  /** All entries that are forwarded. */
  entries(): Iterable<ForwardingEntry> {
    return this.#entries.values()
  }

  /** The route of an `entry` key, with the listeners that it won; undefined if the key is not wanted. */
  routeOf(key: ObjectKey): Route | undefined {
    const id = entryIdOf(key)
    const entry = this.#entries.get(id)
    const rendered = entry && render(entry, this.#settings)
    if (rendered === undefined) return undefined
    const won = rendered.claims.filter(({ point }) => this.#wanted.has(id, point))
    const listeners = [...new Map(won.map(({ point, listener }) => [point, listener])).values()]
    return listeners.length > 0 ? { ...rendered.route, listeners } : undefined
  }

  /** The rules of a chain; undefined when it is not wanted. */
  rulesOf(key: ObjectKey): readonly string[] | undefined {
    return this.#rules.get(key)
  }

  /** The wanted jumps of one built-in chain. */
  jumpsIn({ family, table, chain }: ChainLocation): readonly ObjectKey[] {
    const { listening } = this.#settings
    if (listening.kind === 'bound') return []
    return jumps(listening.netfilter, family)
      .filter((jump) => jump.table === table && jump.chain === chain)
      .map(keyOf)
  }

  #wantRoute(id: EntryId): void {
    const key = entryKey(id)
    const route = this.routeOf(key)
    if (route) this.#wanted.want(key, digestRoute(route), id)
    else if (this.#wanted.ownerOf(key) !== undefined) this.#wanted.want(key, undefined)
  }

  #addBase({ netfilter }: TransparentListening, ports: PortsByFamily): void {
    for (const family of netfilter.families) {
      for (const role of ROLES) this.#wanted.want(setKey(setName(family, role)), PRESENT)
      this.#wanted.want(routeKey(family), PRESENT)
      for (const { table, chain, rules } of chains(
        netfilter,
        family,
        ports.get(family) ?? NO_PORTS,
      )) {
        const key = keyOf({ kind: 'chain', family, table, chain })
        this.#rules.set(key, rules)
        this.#wanted.want(key, digestRules(rules))
      }
      for (const jump of jumps(netfilter, family)) this.#wanted.want(keyOf(jump), digestCount(1))
    }
  }
}
