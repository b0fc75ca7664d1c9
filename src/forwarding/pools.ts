import type { Service } from '../resources/types.ts'
import { type Candidate, isReady } from './backends.ts'
import type { Backend, ForwardingEntry, Frontend, Pool } from './entry.ts'
import type { NodeContext } from './node-context.ts'

const NONE: readonly Backend[] = Object.freeze([])
const REJECT = Object.freeze({ cluster: 'reject', local: 'reject' } as const)
const DROP_LOCAL = Object.freeze({ cluster: 'reject', local: 'drop' } as const)

type Pools = Pick<ForwardingEntry, 'pools' | 'whenEmpty'>

/** The candidates of one pool, and the reason for this choice. */
export interface PoolChoice {
  readonly chosen: readonly Candidate[]
  /** `terminating`: no endpoint is ready, and these still serve. */
  readonly by: 'ready' | 'terminating'
  /** What topology hints did; absent for a local pool, which they never narrow. */
  readonly selection?: EndpointSelection
}

/**
 * The pools that a frontend uses; a pool that no frontend uses stays empty. Packets for an empty local pool are
 * dropped rather than rejected while other nodes have usable endpoints, so that a client or load balancer tries
 * another node.
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
  const ready = readyOf(candidates, service)
  const cluster = needsCluster ? backendsOf(clusterChoice(candidates, ready, node)) : NONE
  if (!needsLocal) return { pools: { cluster, local: NONE }, whenEmpty: REJECT }
  const local = backendsOf(localChoice(candidates, ready))
  const elsewhere = local.length === 0 && orTerminating(ready, candidates).chosen.length > 0
  return { pools: { cluster, local }, whenEmpty: elsewhere ? DROP_LOCAL : REJECT }
}

/** The candidates of a pool and the reason for them, as `poolsOf` decides. */
export function choosePool(
  pool: Pool,
  candidates: readonly Candidate[],
  service: Service,
  node: NodeContext,
): PoolChoice {
  const ready = readyOf(candidates, service)
  return pool === 'local' ? localChoice(candidates, ready) : clusterChoice(candidates, ready, node)
}

/** The candidates that count as ready for this Service. */
export function readyOf(candidates: readonly Candidate[], service: Service): readonly Candidate[] {
  return candidates.filter(({ endpoint }) => isReady(endpoint, service))
}

function clusterChoice(
  candidates: readonly Candidate[],
  ready: readonly Candidate[],
  node: NodeContext,
): PoolChoice {
  const selection = selectByHints(ready, node)
  return { ...orTerminating(selection.chosen, candidates), selection }
}

/** Topology hints never narrow a local pool. */
function localChoice(candidates: readonly Candidate[], ready: readonly Candidate[]): PoolChoice {
  return orTerminating(ready.filter(isLocal), candidates.filter(isLocal))
}

/** If no endpoint is ready, those that are terminating but still serve. */
function orTerminating(ready: readonly Candidate[], candidates: readonly Candidate[]): PoolChoice {
  if (ready.length > 0) return { chosen: ready, by: 'ready' }
  const serving = candidates.filter(({ endpoint }) => endpoint.serving && endpoint.terminating)
  return { chosen: serving, by: serving.length > 0 ? 'terminating' : 'ready' }
}

function isLocal({ backend }: Candidate): boolean {
  return backend.local
}

function backendsOf({ chosen }: PoolChoice): readonly Backend[] {
  return chosen.length === 0 ? NONE : chosen.map(({ backend }) => backend)
}

/**
 * Why hints of one kind are ignored: the zone of this node is unknown, not every ready endpoint has a hint, or no hint
 * is for this node or zone.
 */
type IgnoredHints = 'unknownPlace' | 'incomplete' | 'noneHere'

/** The ready endpoints that this node should use, and how they were chosen. */
export interface EndpointSelection {
  readonly chosen: readonly Candidate[]
  /** The hints that were used; undefined if all ready endpoints were chosen without hints. */
  readonly by: 'nodeHints' | 'zoneHints' | undefined
  /** Why zone hints are ignored; undefined if zone or node hints are used. */
  readonly ignored: IgnoredHints | undefined
}

/**
 * Selects the ready endpoints of the cluster that this node should use: those with a hint for this node, else those
 * with a hint for its zone, else all. Hints of one kind are used only if every ready endpoint has one and at least one
 * is for this node (or zone). Incomplete or outdated hints must neither leave a node without endpoints nor direct its
 * traffic to only a few.
 */
export function selectByHints(
  ready: readonly Candidate[],
  node: Pick<NodeContext, 'name' | 'zone'>,
): EndpointSelection {
  const ofNode = hinted(ready, node.name, ({ endpoint }) => endpoint.nodeHints)
  if (typeof ofNode !== 'string') return { chosen: ofNode, by: 'nodeHints', ignored: undefined }
  const ofZone = hinted(ready, node.zone, ({ endpoint }) => endpoint.zoneHints)
  if (typeof ofZone !== 'string') return { chosen: ofZone, by: 'zoneHints', ignored: undefined }
  return { chosen: ready, by: undefined, ignored: ofZone }
}

function hinted(
  ready: readonly Candidate[],
  place: string | undefined,
  hintsOf: (candidate: Candidate) => readonly string[] | undefined,
): readonly Candidate[] | IgnoredHints {
  if (place === undefined) return 'unknownPlace'
  if (!ready.every((candidate) => (hintsOf(candidate)?.length ?? 0) > 0)) return 'incomplete'
  const near = ready.filter((candidate) => hintsOf(candidate)?.includes(place))
  return near.length > 0 ? near : 'noneHere'
}
