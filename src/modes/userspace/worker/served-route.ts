import { tokenOf } from '../../../affinity/sticky-choice.ts'
import { clientsOwner, stickyTarget } from '../../../forwarding/affinity.ts'
import type { Backend } from '../../../forwarding/entry.ts'
import { contentHash } from '../../../lib/hash.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { Random } from '../../../lib/random.ts'
import type { Route } from '../route.ts'
import { BackendState, RunningTally } from './backend-state.ts'

export type PoolName = 'cluster' | 'local'

/** The backends of a pool, by the token under which the affinity table remembers them. */
export type Pool = ReadonlyMap<number, BackendState>

/** What all routes of a worker share. */
export interface RouteEnvironment {
  /** Milliseconds that connections may stay with a removed backend. */
  readonly drainMs: number
  /** For choosing the first backend at random, so that several workers do not all begin with the same one. */
  readonly random: Random
}

/** A served route: its backends by pool, whose state outlives changes of the route. */
export class ServedRoute {
  /** Includes backends that are gone. */
  readonly tally = new RunningTally()
  readonly #environment: RouteEnvironment
  readonly #states = new Map<string, BackendState>()
  #route: Route
  #group = 0
  #pools: Readonly<Record<PoolName, Pool>> = { cluster: new Map(), local: new Map() }

  constructor(route: Route, now: number, environment: RouteEnvironment) {
    this.#environment = environment
    this.#route = route
    this.update(route, now)
  }

  get route(): Route {
    return this.#route
  }

  /** For affinity: 52 bits of a hash of the name under which its clients are remembered. */
  get group(): number {
    return this.#group
  }

  pool(name: PoolName): Pool {
    return this.#pools[name]
  }

  /** All backends, including removed ones that still have clients. */
  states(): Iterable<BackendState> {
    return this.#states.values()
  }

  /** Whether removed backends still have clients. */
  get isDraining(): boolean {
    return this.#states.values().some(({ leavesAt }) => leavesAt !== undefined)
  }

  /** Whether no backend is left. */
  get isEmpty(): boolean {
    return this.#states.size === 0
  }

  /** Adopts a changed route with the same id and protocol. */
  update(route: Route, now: number): void {
    const sharedBefore = this.#route.affinity?.isShared
    this.#route = route
    this.#group = contentHash(clientsOwner(route))
    if (route.affinity?.isShared !== sharedBefore) {
      for (const state of this.#states.values()) this.#identify(state)
    }
    const active = new Set<BackendState>()
    const poolOf = (backends: readonly Backend[]): Pool => {
      const states = backends.filter(isUsable).map((backend) => this.#state(backend))
      for (const state of states) active.add(state)
      return new Map(states.map((state) => [state.token, state]))
    }
    this.#pools = { cluster: poolOf(route.pools.cluster), local: poolOf(route.pools.local) }
    for (const state of active) state.leavesAt = undefined
    for (const state of this.#states.values()) {
      if (!active.has(state)) state.leavesAt ??= now + this.#drainMs
    }
    this.sweep()
  }

  /** Called when the route is removed: every backend leaves. */
  drain(now: number): void {
    this.update({ ...this.#route, pools: { cluster: [], local: [] } }, now)
  }

  /** Forgets removed backends that have no clients any more. */
  sweep(): void {
    for (const [key, { leavesAt, sessions }] of this.#states) {
      if (leavesAt !== undefined && sessions.size === 0) this.#states.delete(key)
    }
  }

  /** UDP clients have no connection that could be lost, so they are sent elsewhere at once. */
  get #drainMs(): number {
    return this.#route.protocol === 'UDP' ? 0 : this.#environment.drainMs
  }

  #state(backend: Backend): BackendState {
    const key = hostPort(backend.ip, backend.port)
    const known = this.#states.get(key)
    if (known !== undefined) {
      known.backend = backend
      return known
    }
    const state = new BackendState(backend, this.tally)
    state.credit = (this.#environment.random.below(1_000) / 1_000) * backend.weight
    if (this.#route.affinity?.isShared) this.#identify(state)
    this.#states.set(key, state)
    return state
  }

  #identify(state: BackendState): void {
    state.token = tokenOf(stickyTarget(this.#route, state.backend))
  }
}

/** Weight 0 means no new connections. */
function isUsable({ weight }: Backend): boolean {
  return weight > 0
}
