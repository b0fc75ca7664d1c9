import type { AffinityTable } from '../../../affinity/affinity-table.ts'
import { stickyChoice, type Visit } from '../../../affinity/sticky-choice.ts'
import { ipPart, type SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import type { ForwarderLimits } from '../forwarder.ts'
import type { Balancing, Side } from '../route.ts'
import type { BackendState } from './backend-state.ts'
import type { Counters } from './counters.ts'
import type { RouteMatch } from './route-table.ts'

/** What all choices of a worker share. */
export interface SelectionParts {
  readonly affinity: AffinityTable
  readonly counters: Counters
  /** Backends that were set aside lately. */
  readonly aside: Set<BackendState>
  readonly limits: Pick<ForwarderLimits, 'attempts' | 'retryMs'>
  /** Milliseconds of a clock that all threads share, for affinity; all other times are of this thread's clock. */
  readonly sharedTime: () => number
}

/** A new client: a TCP connection that was accepted, or the first datagram of a UDP flow. */
export interface ConnectionRequest {
  readonly match: RouteMatch
  readonly side: Side
  readonly client: SocketAddress
  /** The address that the client connected to. */
  readonly destination: SocketAddress
  readonly now: number
}

/** The choice of a backend for one client: which one to try next, and the result of each attempt. */
export class Selection {
  readonly request: ConnectionRequest
  readonly #parts: SelectionParts
  readonly #tried = new Set<BackendState>()

  constructor(parts: SelectionParts, request: ConnectionRequest) {
    this.#parts = parts
    this.request = request
  }

  /** Undefined if no backend is left, or the limit of attempts or time is reached. */
  next(now: number): BackendState | undefined {
    if (this.#tried.size > 0 && this.#isOver(now)) return undefined
    const chosen = this.#choose(now)
    if (chosen === undefined) return undefined
    if (this.#tried.size > 0) this.#parts.counters.add('connectRetries')
    this.#tried.add(chosen)
    return chosen
  }

  failed(state: BackendState, now: number): void {
    this.#parts.counters.add('connectFailures')
    state.failed(now)
    this.#parts.aside.add(state)
  }

  /** The backend that the client had last, unless it is known not to answer; otherwise a new one. */
  #choose(now: number): BackendState | undefined {
    const { balancing } = this.request.match.served.route
    const pool = this.#pool
    return stickyChoice(this.#parts.affinity, this.#visit(), {
      find: (token) => {
        const state = pool.get(token)
        return state === undefined || state.isAside(now) || this.#tried.has(state)
          ? undefined
          : state
      },
      choose: () => chooseBackend({ pool, tried: this.#tried, balancing, now }),
    })
  }

  #isOver(now: number): boolean {
    const { attempts, retryMs } = this.#parts.limits
    return this.#tried.size >= attempts || now - this.request.now >= retryMs
  }

  get #pool(): ReadonlyMap<number, BackendState> {
    const { served, listener } = this.request.match
    return served.pool(listener.pools[this.request.side])
  }

  #visit(): Visit {
    const { served } = this.request.match
    const seconds = served.route.affinity?.seconds
    return {
      group: served.group,
      client: ipPart(this.request.client),
      seconds,
      now: this.#parts.sharedTime(),
    }
  }
}

/** The backends to choose from, and those to avoid. */
interface Choice {
  readonly pool: ReadonlyMap<number, BackendState>
  /** Those that have already failed for this client. */
  readonly tried: ReadonlySet<BackendState>
  readonly balancing: Balancing
  readonly now: number
}

/**
 * The backend for a new client, among those not tried yet: if possible one that is not set aside. Undefined when all
 * were tried.
 */
export function chooseBackend({ pool, tried, balancing, now }: Choice): BackendState | undefined {
  const left = [...pool.values()].filter((state) => !tried.has(state))
  const healthy = left.filter((state) => !state.isAside(now))
  const candidates = healthy.length > 0 ? healthy : left
  return inTurn(balancing === 'lc' ? leastLoaded(candidates) : candidates)
}

/**
 * Smooth weighted round robin: each backend's credit grows by its weight, the backend with the
 * most credit gets the client, and its credit falls by the total weight. With equal weights this
 * is plain round robin.
 */
function inTurn(candidates: readonly BackendState[]): BackendState | undefined {
  let best: BackendState | undefined
  let total = 0
  for (const state of candidates) {
    const { weight } = state.backend
    state.credit += weight
    total += weight
    if (best === undefined || state.credit > best.credit) best = state
  }
  if (best !== undefined) best.credit -= total
  return best
}

/** All backends with the fewest clients relative to their weight. */
function leastLoaded(candidates: readonly BackendState[]): readonly BackendState[] {
  let least = Number.POSITIVE_INFINITY
  let found: BackendState[] = []
  for (const state of candidates) {
    const load = state.sessions.size / state.backend.weight
    if (load > least) continue
    if (load < least) found = []
    least = load
    found.push(state)
  }
  return found
}
