import type { EntryId } from '../../../forwarding/entry.ts'
import type { Route } from '../route.ts'
import { type DoorAddress, doorKey } from '../worker/listener-address.ts'

export interface DoorPlan {
  /** What was refused before is tried again. */
  readonly open: readonly DoorAddress[]
  readonly close: readonly DoorAddress[]
}

/** Which addresses routes want to be open, which may pass from one to the other, and which are. */
export class WantedDoors {
  readonly #wanted = new Map<EntryId, ReadonlyMap<string, DoorAddress>>()
  readonly #owners = new Map<string, Set<EntryId>>()
  readonly #open = new Map<string, DoorAddress>()

  /** By `doorKey`. */
  get open(): Iterable<string> {
    return this.#open.keys()
  }

  /** What has to be done for these changes, which counts as done then. */
  plan(changes: ReadonlyMap<EntryId, Route | undefined>): DoorPlan {
    const touched = new Map<string, DoorAddress>()
    for (const [id, route] of changes) {
      for (const [key, at] of this.#replace(id, route)) touched.set(key, at)
    }
    const open = [...touched].filter(([key]) => this.#owners.has(key) && !this.#open.has(key))
    const close = [...touched].filter(([key]) => !this.#owners.has(key) && this.#open.has(key))
    for (const [key, at] of open) this.#open.set(key, at)
    for (const [key] of close) this.#open.delete(key)
    return { open: open.map(([, at]) => at), close: close.map(([, at]) => at) }
  }

  /** It could not be opened after all; returns the routes that want it. */
  refuse(at: DoorAddress): readonly EntryId[] {
    const key = doorKey(at)
    this.#open.delete(key)
    return [...(this.#owners.get(key) ?? [])]
  }

  /** All that are open; they count as closed then, and nobody wants them any more. */
  closeAll(): readonly DoorAddress[] {
    const all = [...this.#open.values()]
    this.#open.clear()
    this.#owners.clear()
    this.#wanted.clear()
    return all
  }

  /** The doors that it wanted, and those that it wants. */
  #replace(id: EntryId, route: Route | undefined): readonly (readonly [string, DoorAddress])[] {
    const old = this.#wanted.get(id) ?? new Map<string, DoorAddress>()
    const doors = doorsOf(route)
    for (const key of old.keys()) this.#disown(key, id)
    for (const key of doors.keys()) {
      this.#owners.set(key, (this.#owners.get(key) ?? new Set()).add(id))
    }
    if (route) this.#wanted.set(id, doors)
    else this.#wanted.delete(id)
    return [...old, ...doors]
  }

  #disown(key: string, id: EntryId): void {
    const owners = this.#owners.get(key)
    owners?.delete(id)
    if (owners?.size === 0) this.#owners.delete(key)
  }
}

function doorsOf(route: Route | undefined): ReadonlyMap<string, DoorAddress> {
  if (route === undefined) return new Map()
  const { protocol, doors } = route
  const all = doors.map(({ ip, port }): DoorAddress => ({ protocol, ip, port }))
  return new Map(all.map((at) => [doorKey(at), at]))
}
