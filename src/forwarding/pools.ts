import type { Service } from '../resources/types.ts'
import { type Candidate } from './backends.ts'
import type { Backend, ForwardingEntry, Frontend } from './entry.ts'
import type { NodeContext } from './node-context.ts'
import { isReady } from './readiness.ts'
import { preferNear } from './topology.ts'

const NONE: readonly Backend[] = Object.freeze([])
const REJECT = Object.freeze({ cluster: 'reject', local: 'reject' } as const)
const DROP_LOCAL = Object.freeze({ cluster: 'reject', local: 'drop' } as const)

type Pools = Pick<ForwardingEntry, 'pools' | 'whenEmpty'>

/**
 * The pools that a frontend uses; a pool that none uses stays empty. Packets for an empty local pool are
 * dropped rather than rejected while other nodes have usable endpoints, so that a client or load balancer
 * tries another node.
 */
export function poolsOf(
  candidates: readonly Candidate[],
  frontends: readonly Frontend[],
  service: Service,
  node: NodeContext,
): Pools {
  const needsLocal = frontends.some((frontend) => frontend.pool === 'local')
  const needsCluster = frontends.some(
    (frontend) => frontend.pool === 'cluster' || frontend.shortCircuit,
  )
  const ready = candidates.filter(({ endpoint }) => isReady(endpoint, service))
  const cluster = needsCluster ? backendsOf(clusterSet(candidates, ready, node)) : NONE
  if (!needsLocal) return { pools: { cluster, local: NONE }, whenEmpty: REJECT }
  const local = backendsOf(localSet(candidates, ready))
  const elsewhere = local.length === 0 && orTerminating(ready, candidates).length > 0
  return { pools: { cluster, local }, whenEmpty: elsewhere ? DROP_LOCAL : REJECT }
}

function clusterSet(
  candidates: readonly Candidate[],
  ready: readonly Candidate[],
  node: NodeContext,
): readonly Candidate[] {
  return orTerminating(preferNear(ready, node), candidates)
}

/** Topology never narrows a local set. */
function localSet(
  candidates: readonly Candidate[],
  ready: readonly Candidate[],
): readonly Candidate[] {
  return orTerminating(ready.filter(isLocal), candidates.filter(isLocal))
}

/** Without any ready endpoint, those that are terminating but still serve. */
function orTerminating(
  ready: readonly Candidate[],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (ready.length > 0) return ready
  return candidates.filter(({ endpoint }) => endpoint.serving && endpoint.terminating)
}

function isLocal({ backend }: Candidate): boolean {
  return backend.local
}

function backendsOf(candidates: readonly Candidate[]): readonly Backend[] {
  return candidates.length === 0 ? NONE : candidates.map(({ backend }) => backend)
}
