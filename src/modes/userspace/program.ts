import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { SetProgram } from '../netfilter/set-program.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
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
export class UserspaceProgram extends SetProgram {
  readonly #settings: UserspaceSettings
  readonly #entries = new Map<EntryId, ForwardingEntry>()

  /** `ports`: those of a forwarder that gets redirected packets. */
  constructor(settings: UserspaceSettings, ports: PortsByFamily) {
    const { listening } = settings
    const base = (netfilter: NetfilterSettings) =>
      netfilter.families.map((family) =>
        baseRules(netfilter, family, ports.get(family) ?? NO_PORTS),
      )
    super(listening.kind === 'bound' ? [] : base(listening.netfilter), SETS)
    this.#settings = settings
  }

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(id)
    else this.#entries.set(id, entry)
    const moved = this.wanted.place(id, entry && render(entry, this.#settings))
    for (const each of [id, ...moved]) this.#wantRoute(each)
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
    const won = rendered.claims.filter(({ point }) => this.wanted.has(id, point))
    const listeners = [...new Map(won.map(({ point, listener }) => [point, listener])).values()]
    return listeners.length > 0 ? { ...rendered.route, listeners } : undefined
  }

  protected describeOwn(key: ObjectKey): ObjectDescription {
    return { kind: 'forwarder_route', family: key.endsWith('/6') ? 6 : 4 }
  }

  #wantRoute(id: EntryId): void {
    const key = entryKey(id)
    const route = this.routeOf(key)
    if (route) this.wanted.want(key, digestRoute(route), id)
    else if (this.wanted.ownerOf(key) !== undefined) this.wanted.want(key, undefined)
  }
}
