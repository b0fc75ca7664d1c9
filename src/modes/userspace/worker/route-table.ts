import type { EntryId } from '../../../forwarding/entry.ts'
import {
  addressKey,
  type SocketAddress,
  socketAddress,
} from '../../../kernel/sockets/socket-address.ts'
import type { Door, Route, RouteProtocol } from '../route.ts'
import type { BackendState } from './backend-state.ts'
import { type RouteEnvironment, ServedRoute } from './served-route.ts'

/** Where a client knocked. */
export interface Entrance {
  readonly served: ServedRoute
  readonly door: Door
}

/** All routes of this worker, found by the address that a client connects to. */
export class RouteTable {
  readonly #environment: RouteEnvironment
  readonly #routes = new Map<EntryId, ServedRoute>()
  /** Routes that are gone and whose last clients are not. */
  readonly #retired = new Map<EntryId, ServedRoute>()
  /** Of both, those with backends that left and still have clients. */
  readonly #draining = new Set<ServedRoute>()
  readonly #entrances: Readonly<Record<RouteProtocol, Map<string, Entrance>>> = {
    TCP: new Map(),
    UDP: new Map(),
  }

  constructor(environment: RouteEnvironment) {
    this.#environment = environment
  }

  find(protocol: RouteProtocol, destination: SocketAddress): Entrance | undefined {
    return this.#entrances[protocol].get(addressKey(destination))
  }

  /** Undefined takes the route away; its clients may stay while its backends drain. */
  replace(id: EntryId, route: Route | undefined, now: number): void {
    const known = this.#routes.get(id)
    if (known) this.#closeDoors(known)
    if (route) this.#serve(known ?? this.#retired.get(id), route, now)
    else if (known) this.#drain(known, now)
  }

  /** Backends that left and still have clients. */
  *draining(): IterableIterator<BackendState> {
    for (const served of this.#draining) {
      for (const state of served.states()) if (state.leavesAt !== undefined) yield state
    }
  }

  /** Forgets what left and has no clients any more. */
  sweep(): void {
    for (const served of this.#draining) {
      served.sweep()
      if (!served.isDraining) this.#draining.delete(served)
      const { id } = served.route
      if (served.isEmpty && this.#retired.get(id) === served) this.#retired.delete(id)
    }
  }

  #serve(known: ServedRoute | undefined, route: Route, now: number): void {
    const served = known ?? new ServedRoute(route, now, this.#environment)
    if (known) known.update(route, now)
    this.#retired.delete(route.id)
    this.#routes.set(route.id, served)
    if (served.isDraining) this.#draining.add(served)
    for (const door of route.doors) {
      this.#entrances[route.protocol].set(keyOf(door), { served, door })
    }
  }

  #drain(served: ServedRoute, now: number): void {
    const { id } = served.route
    this.#routes.delete(id)
    served.drain(now)
    if (served.isEmpty) return
    this.#retired.set(id, served)
    this.#draining.add(served)
  }

  /** But for those at which another route has been served since. */
  #closeDoors(served: ServedRoute): void {
    const { protocol, doors } = served.route
    const entrances = this.#entrances[protocol]
    for (const door of doors) {
      const key = keyOf(door)
      if (entrances.get(key)?.served === served) entrances.delete(key)
    }
  }
}

function keyOf({ ip, port }: Door): string {
  return addressKey(socketAddress(ip, port))
}
