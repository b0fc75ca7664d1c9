import type { EntryId } from '../../../forwarding/entry.ts'
import {
  addressKey,
  type SocketAddress,
  socketAddress,
} from '../../../kernel/sockets/socket-address.ts'
import type { Route, RouteListener, RouteProtocol } from '../route.ts'
import type { BackendState } from './backend-state.ts'
import { type RouteEnvironment, ServedRoute } from './served-route.ts'

/** Where a client knocked. */
export interface RouteMatch {
  readonly served: ServedRoute
  readonly listener: RouteListener
}

/** All routes of this worker, found by the address that a client connects to. */
export class RouteTable {
  readonly #environment: RouteEnvironment
  readonly #routes = new Map<EntryId, ServedRoute>()
  /** Routes that are gone and whose last clients are not. */
  readonly #retired = new Map<EntryId, ServedRoute>()
  /** Of both, those with backends that left and still have clients. */
  readonly #draining = new Set<ServedRoute>()
  readonly #matches: Readonly<Record<RouteProtocol, Map<string, RouteMatch>>> = {
    TCP: new Map(),
    UDP: new Map(),
  }

  constructor(environment: RouteEnvironment) {
    this.#environment = environment
  }

  find(protocol: RouteProtocol, destination: SocketAddress): RouteMatch | undefined {
    return this.#matches[protocol].get(addressKey(destination))
  }

  /** Undefined takes the route away; its clients may stay while its backends drain. */
  replace(id: EntryId, route: Route | undefined, now: number): void {
    const known = this.#routes.get(id)
    if (known) this.#closeListeners(known)
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
    for (const listener of route.listeners) {
      this.#matches[route.protocol].set(keyOf(listener), { served, listener })
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
  #closeListeners(served: ServedRoute): void {
    const { protocol, listeners } = served.route
    const matches = this.#matches[protocol]
    for (const listener of listeners) {
      const key = keyOf(listener)
      if (matches.get(key)?.served === served) matches.delete(key)
    }
  }
}

function keyOf({ ip, port }: RouteListener): string {
  return addressKey(socketAddress(ip, port))
}
