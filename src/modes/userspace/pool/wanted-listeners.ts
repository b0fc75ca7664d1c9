import type { EntryId } from '../../../forwarding/entry.ts'
import type { Route } from '../route.ts'
import { type ListenerAddress, listenerKey } from '../worker/route-table.ts'

/** What has to be opened and closed for a change of routes. */
export interface ListenerPlan {
  /** Includes those that were refused before. */
  readonly open: readonly ListenerAddress[]
  readonly close: readonly ListenerAddress[]
}

/**
 * The listener addresses of the present routes, and those that are open. An address may pass from one route to
 * another.
 */
export class WantedListeners {
  readonly #wanted = new Map<EntryId, ReadonlyMap<string, ListenerAddress>>()
  readonly #owners = new Map<string, Set<EntryId>>()
  readonly #open = new Map<string, ListenerAddress>()

  /** The open listeners, by `listenerKey`. */
  get open(): Iterable<string> {
    return this.#open.keys()
  }

  /** The listeners to open and close for these changes; from then on they count as opened and closed. */
  plan(changes: ReadonlyMap<EntryId, Route | undefined>): ListenerPlan {
    const touched = new Map<string, ListenerAddress>()
    for (const [id, route] of changes) {
      for (const [key, at] of this.#replace(id, route)) touched.set(key, at)
    }
    const open = [...touched].filter(([key]) => this.#owners.has(key) && !this.#open.has(key))
    const close = [...touched].filter(([key]) => !this.#owners.has(key) && this.#open.has(key))
    for (const [key, at] of open) this.#open.set(key, at)
    for (const [key] of close) this.#open.delete(key)
    return { open: open.map(([, at]) => at), close: close.map(([, at]) => at) }
  }

  /** Called when a listener could not be opened; returns the routes that want it. */
  refuse(at: ListenerAddress): readonly EntryId[] {
    const key = listenerKey(at)
    this.#open.delete(key)
    return [...(this.#owners.get(key) ?? [])]
  }

  /** All open listeners; from then on they count as closed, and no route wants them. */
  closeAll(): readonly ListenerAddress[] {
    const all = [...this.#open.values()]
    this.#open.clear()
    this.#owners.clear()
    this.#wanted.clear()
    return all
  }

  /** The listeners that the route had, and those that it has now. */
  #replace(id: EntryId, route: Route | undefined): readonly (readonly [string, ListenerAddress])[] {
    const old = this.#wanted.get(id) ?? new Map<string, ListenerAddress>()
    const listeners = listenersOf(route)
    for (const key of old.keys()) this.#disown(key, id)
    for (const key of listeners.keys()) {
      this.#owners.set(key, (this.#owners.get(key) ?? new Set()).add(id))
    }
    if (route) this.#wanted.set(id, listeners)
    else this.#wanted.delete(id)
    return [...old, ...listeners]
  }

  #disown(key: string, id: EntryId): void {
    const owners = this.#owners.get(key)
    owners?.delete(id)
    if (owners?.size === 0) this.#owners.delete(key)
  }
}

function listenersOf(route: Route | undefined): ReadonlyMap<string, ListenerAddress> {
  if (route === undefined) return new Map()
  const { protocol, listeners } = route
  const all = listeners.map(({ ip, port }): ListenerAddress => ({ protocol, ip, port }))
  return new Map(all.map((at) => [listenerKey(at), at]))
}
