import type { EntryId } from '../../../forwarding/entry.ts'
import {
  addressKey,
  type SocketAddress,
  socketAddress,
} from '../../../kernel/sockets/socket-address.ts'
import { hostPort, type IpAddress } from '../../../lib/ip.ts'
import type { RouteTraffic, Tally } from '../read-traffic.ts'
import type { Route, RouteListener, RouteProtocol } from '../route.ts'
import type { BackendState, RunningTally } from './backend-state.ts'
import { type RouteEnvironment, ServedRoute } from './served-route.ts'
import type { Session } from './session-table.ts'

/** Where to listen. */
export interface ListenerAddress {
  readonly protocol: RouteProtocol
  readonly ip: IpAddress
  readonly port: number
}

/** The route and listener at which a client arrived. */
export interface RouteMatch {
  readonly served: ServedRoute
  readonly listener: RouteListener
}

/** All routes of this worker, found by the address that a client connects to. */
export class RouteTable {
  readonly #environment: RouteEnvironment
  readonly #routes = new Map<EntryId, ServedRoute>()
  /** Routes that were removed but still have clients. */
  readonly #removed = new Map<EntryId, ServedRoute>()
  /** Routes, removed or not, with removed backends that still have clients. */
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

  /** Undefined removes the route; its clients may stay while its backends drain. */
  replace(id: EntryId, route: Route | undefined, now: number): void {
    const known = this.#routes.get(id)
    if (known) this.#closeListeners(known)
    if (route) this.#serve(known ?? this.#removed.get(id), route, now)
    else if (known) this.#drain(known, now)
  }

  /** The counts of each route that had a connection, including removed ones with clients. */
  traffic(withBackends: boolean): readonly RouteTraffic[] {
    const all = [...this.#routes.values(), ...this.#removed.values()]
    return all.flatMap((served) => trafficOf(served, withBackends) ?? [])
  }

  /** Backends that were removed and still have clients. */
  *draining(): IterableIterator<BackendState> {
    for (const served of this.#draining) {
      for (const state of served.states()) if (state.leavesAt !== undefined) yield state
    }
  }

  /** Forgets removed routes and backends that have no clients any more. */
  sweep(): void {
    for (const served of this.#draining) {
      served.sweep()
      if (!served.isDraining) this.#draining.delete(served)
      const { id } = served.route
      if (served.isEmpty && this.#removed.get(id) === served) this.#removed.delete(id)
    }
  }

  #serve(known: ServedRoute | undefined, route: Route, now: number): void {
    const served = known ?? new ServedRoute(route, now, this.#environment)
    if (known) known.update(route, now)
    this.#removed.delete(route.id)
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
    this.#removed.set(id, served)
    this.#draining.add(served)
  }

  /** Leaves out listeners that another route has taken over since. */
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

/** What a worker counted for a route; undefined if nothing. */
function trafficOf(served: ServedRoute, withBackends: boolean): RouteTraffic | undefined {
  if (served.tally.connections === 0) return undefined
  const { id, service } = served.route
  const states = [...served.states()].filter(({ tally }) => tally.connections > 0)
  const sessions = states.flatMap((state) => [...state.sessions])
  return {
    id,
    service,
    total: tallyOf(served.tally, sessions),
    backends: withBackends ? states.map(backendOf) : [],
  }
}

function backendOf(state: BackendState): RouteTraffic['backends'][number] {
  const { ip, port } = state.backend
  return { ip, port, ...tallyOf(state.tally, state.sessions) }
}

/** Includes what the present connections have moved so far. */
function tallyOf(ended: RunningTally, sessions: Iterable<Session>): Tally {
  let { bytesIn, bytesOut } = ended
  let connectionsNow = 0
  for (const session of sessions) {
    connectionsNow++
    bytesIn += session.bytesIn
    bytesOut += session.bytesOut
  }
  return { connections: ended.connections, connectionsNow, bytesIn, bytesOut }
}

/** `TCP 127.0.0.1:80` */
export function listenerKey({ protocol, ip, port }: ListenerAddress): string {
  return `${protocol} ${hostPort(ip, port)}`
}
