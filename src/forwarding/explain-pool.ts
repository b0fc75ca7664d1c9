import type { IpAddress } from '../lib/ip.ts'
import type { EndpointSource } from '../resources/types.ts'
import { type Candidate, type Candidates, collectCandidates } from './backends.ts'
import type { ForwardingEntry, Frontend, Pool, RejectedFrontend } from './entry.ts'
import type { ClusterView, NodeContext } from './node-context.ts'
import { choosePool, type EndpointSelection, type PoolChoice, readyOf } from './pools.ts'

/** Why a pool has the backends that it has on this node. */
export interface PoolExplanation {
  readonly pool: Pool
  /** Undefined if unknown: then zone hints are ignored. */
  readonly zone: string | undefined
  readonly chosenBy: 'ready' | 'terminating' | 'nodeHints' | 'zoneHints'
  /** The decisions, in their order. */
  readonly reasons: readonly string[]
  /** The node of each backend whose endpoint names one. */
  readonly nodes: ReadonlyMap<IpAddress, string>
  /** Endpoints of the port that get no new connections from this pool, sorted by ip and port. */
  readonly leftOut: readonly LeftOutEndpoint[]
}

/** What is explained: a pool of an entry, as packets to one of its frontends use it. */
export interface ExplainedPool {
  readonly entry: ForwardingEntry
  readonly frontend: Pick<Frontend, 'kind'>
  readonly pool: Pool
}

/** Explains a pool from the present objects; undefined if the Service does not exist any more. */
export function explainPool(
  { entry, frontend, pool }: ExplainedPool,
  cluster: ClusterView,
  node: NodeContext,
): PoolExplanation | undefined {
  const service = cluster.service(entry.service)
  if (service === undefined) return undefined
  const sources = cluster.endpointSourcesOf(entry.service)
  const port = { name: entry.portName, protocol: entry.protocol }
  const candidates = collectCandidates(sources, port, entry.family, node.name)
  const choice = choosePool(pool, candidates.all, service, node)
  const ready = readyOf(candidates.all, service)
  const { selection, by } = choice
  const policy = frontend.kind === 'clusterIP' ? 'internalTrafficPolicy' : 'externalTrafficPolicy'
  return {
    pool,
    zone: node.zone,
    // Hints choose only among ready endpoints.
    chosenBy: selection?.by ?? by,
    reasons: [
      ...(pool === 'local' ? [`${policy} is Local: endpoints on node ${node.name} alone`] : []),
      ...(selection === undefined ? [] : hintReasons(selection, ready, node)),
      ...endReasons(choice, candidates, entry, sources),
    ],
    nodes: nodesOf(choice.chosen),
    leftOut: [
      ...candidates.all
        .filter((one) => !choice.chosen.includes(one))
        .map((one) => leftOut(one, { choice, isReady: ready.includes(one) })),
      ...candidates.refused.map(refusedEndpoint),
    ],
  }
}

function nodesOf(chosen: readonly Candidate[]): ReadonlyMap<IpAddress, string> {
  const known = chosen.filter(({ endpoint }) => endpoint.nodeName !== '')
  return new Map(known.map(({ endpoint }) => [endpoint.ip, endpoint.nodeName]))
}

function hintReasons(
  { by, ignored, chosen }: EndpointSelection,
  ready: readonly Candidate[],
  { name, zone = '' }: NodeContext,
): readonly string[] {
  const [some, all] = [chosen.length, ready.length]
  if (all === 0) return []
  if (by !== undefined) {
    const place = by === 'nodeHints' ? `node ${name}` : `zone ${zone}`
    return [`topology hints for ${place} are followed: ${some} of ${all} ready endpoints`]
  }
  const without = (hints: 'nodeHints' | 'zoneHints') =>
    ready.filter(({ endpoint }) => endpoint[hints] === undefined).length
  const kind = without('zoneHints') === all ? 'nodeHints' : 'zoneHints'
  const missing = without(kind)
  if (missing === all) return ['no topology hints: every ready endpoint is used']
  if (missing > 0)
    return [`topology hints are ignored: ${missing} of ${all} ready endpoints have none`]
  if (kind === 'nodeHints') {
    return [`topology hints are ignored: no ready endpoint is hinted for node ${name}`]
  }
  return ignored === 'unknownPlace'
    ? ['topology hints are ignored: the zone of this node is unknown']
    : [`topology hints are ignored: no ready endpoint is hinted for zone ${zone}`]
}

function endReasons(
  { by, chosen }: PoolChoice,
  { all, refused }: Candidates,
  entry: ForwardingEntry,
  sources: readonly EndpointSource[],
): readonly string[] {
  if (by === 'terminating') {
    return [`no endpoint of the pool is ready: ${chosen.length} terminating that still serve`]
  }
  const { portName, protocol, family } = entry
  const hasOthers = sources.some(({ groups }) =>
    groups.some((group) => group.family === family && group.endpoints.length > 0),
  )
  if (all.length + refused.length > 0 || !hasOthers) return []
  return [`no endpoint has the port ${portName === '' ? 'without a name' : portName}/${protocol}`]
}

/** An endpoint that is not in a pool. */
interface LeftOutEndpoint {
  readonly ip: IpAddress
  readonly port: number
  /** Empty when unknown. */
  readonly nodeName: string
  readonly reason:
    | 'notReady'
    | 'terminating'
    | 'otherNode'
    | 'hintedForOtherNodes'
    | 'hintedForOtherZones'
    | 'specialAddress'
  /** The reason for people. */
  readonly text: string
}

interface Judged {
  readonly choice: PoolChoice
  readonly isReady: boolean
}

/** Why a candidate is not among those that were chosen. */
function leftOut(candidate: Candidate, judged: Judged): LeftOutEndpoint {
  const { ip, port } = candidate.backend
  const { nodeName } = candidate.endpoint
  return { ip, port, nodeName, ...reasonOf(candidate, judged) }
}

/** An endpoint whose address gets no traffic. */
function refusedEndpoint({ ip, port, message }: RejectedFrontend): LeftOutEndpoint {
  const text = message.replace(/^endpoint \S+ /, '')
  return { ip: ip as IpAddress, port, nodeName: '', reason: 'specialAddress', text }
}

/** For a local pool the node is checked first: endpoints of other nodes do not belong to it, ready or not. */
function reasonOf(
  { backend, endpoint }: Candidate,
  { choice: { selection }, isReady }: Judged,
): Pick<LeftOutEndpoint, 'reason' | 'text'> {
  const { terminating, serving, nodeName, nodeHints = [], zoneHints = [] } = endpoint
  if (selection === undefined && !backend.local) {
    const where = nodeName === '' ? 'on a node that its slice does not name' : `on node ${nodeName}`
    return { reason: 'otherNode', text: where }
  }
  if (!isReady && terminating) {
    const how = serving ? 'terminating, and others are ready' : 'terminating, and no longer serves'
    return { reason: 'terminating', text: how }
  }
  if (!isReady) return { reason: 'notReady', text: 'not ready' }
  return selection?.by === 'nodeHints'
    ? { reason: 'hintedForOtherNodes', text: `hinted for node ${nodeHints.join(', ')}` }
    : { reason: 'hintedForOtherZones', text: `hinted for zone ${zoneHints.join(', ')}` }
}
