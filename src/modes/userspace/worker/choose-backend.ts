import type { Balancing } from '../route.ts'
import type { BackendState } from './backend-state.ts'

/** The backends to choose from, and those to avoid. */
export interface Choice {
  readonly pool: ReadonlyMap<number, BackendState>
  /** Those that have already failed for this client. */
  readonly tried: ReadonlySet<BackendState>
  readonly balancing: Balancing
  readonly now: number
}

/**
 * The backend for a new client: of those not tried yet the ones that are not set aside, and only
 * if there is none of them any other. Undefined when all were tried.
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

/** All with the fewest clients for their weight. */
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
