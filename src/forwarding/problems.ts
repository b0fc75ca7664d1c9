import type { Protocol, ServiceKey } from '../resources/types.ts'
import type { Claims, Denial } from './claims.ts'
import type { EntryId, ForwardingEntry, Frontend, RejectedFrontend } from './entry.ts'

/**
 * A frontend that is not served, as the status of its entry shows it. `Conflict`: another entry holds the address;
 * this entry gets it when the other releases it. `Refused`: a rule forbids it.
 */
export interface FrontendProblem extends RejectedFrontend {
  readonly entry: EntryId
  readonly service: ServiceKey
  readonly protocol: Protocol
  readonly status: 'Conflict' | 'Refused'
  /** The holder of the address; undefined when a rule rejects the frontend by itself. */
  readonly winner: EntryId | ServiceKey | undefined
}

/** The frontends that an entry requested but did not get: rejected by the compiler, or lost to another entry. */
export function problemsOf(entry: ForwardingEntry, claims: Claims): readonly FrontendProblem[] {
  const problems: FrontendProblem[] = []
  for (const rejection of entry.refused ?? []) {
    problems.push({ ...rejection, ...belongingTo(entry), status: 'Refused', winner: undefined })
  }
  for (const frontend of entry.frontends) {
    const denial = claims.denial(entry, frontend)
    if (denial !== undefined) problems.push(lost(entry, frontend, denial))
  }
  return problems
}

function lost(
  entry: ForwardingEntry,
  { kind, ip, port }: Frontend,
  { by, winner }: NonNullable<Denial>,
): FrontendProblem {
  const at: Pick<RejectedFrontend, 'kind' | 'ip' | 'port'> = { kind, ip, port }
  if (by === 'clusterIP') {
    const code = 'NP_FORWARDING_CLUSTER_IP_OF_OTHER'
    const message = `${kind} ${ip} is the ClusterIP of Service ${winner} and is never captured; remove it`
    return { ...at, ...belongingTo(entry), code, message, status: 'Refused', winner }
  }
  const what = ip === 'node' ? `node port ${port}` : `${kind} ${ip} port ${port}`
  const message = `${what} (${entry.protocol}) belongs to ${winner}; choose another address or port`
  const code = 'NP_FORWARDING_CONFLICT'
  return { ...at, ...belongingTo(entry), code, message, status: 'Conflict', winner }
}

function belongingTo({
  id,
  service,
  protocol,
}: ForwardingEntry): Pick<FrontendProblem, 'entry' | 'service' | 'protocol'> {
  return { entry: id, service, protocol }
}

/** Entries with traffic policy Local and no endpoint on this node, while other nodes have endpoints. */
interface NoLocalEndpoints {
  readonly internal: number
  readonly external: number
}

/** Counts such entries by the policy that is Local: internal (ClusterIP) or external (all other kinds). */
export function countNoLocalEndpoints(entries: Iterable<ForwardingEntry>): NoLocalEndpoints {
  let internal = 0
  let external = 0
  for (const { frontends, pools, whenEmpty } of entries) {
    if (pools.local.length > 0 || whenEmpty.local !== 'drop') continue
    const local = frontends.filter((frontend) => frontend.pool === 'local')
    if (local.some((frontend) => frontend.kind === 'clusterIP')) internal++
    if (local.some((frontend) => frontend.kind !== 'clusterIP')) external++
  }
  return { internal, external }
}
