import type { IpAddress } from '../../lib/ip.ts'
import type { Candidate } from '../backends.ts'
import type { RejectedFrontend } from '../entry.ts'
import type { PoolChoice } from '../pools.ts'

/** An endpoint that is not in a pool. */
export interface LeftOutEndpoint {
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
export function leftOut(candidate: Candidate, judged: Judged): LeftOutEndpoint {
  const { ip, port } = candidate.backend
  const { nodeName } = candidate.endpoint
  return { ip, port, nodeName, ...reasonOf(candidate, judged) }
}

/** An endpoint whose address gets no traffic. */
export function refusedEndpoint({ ip, port, message }: RejectedFrontend): LeftOutEndpoint {
  const text = message.replace(/^endpoint \S+ /, '')
  return { ip: ip as IpAddress, port, nodeName: '', reason: 'specialAddress', text }
}

/** Of a local pool, the node counts first: what other nodes have is not for it, ready or not. */
function reasonOf(
  { backend, endpoint }: Candidate,
  { choice: { nearness }, isReady }: Judged,
): Pick<LeftOutEndpoint, 'reason' | 'text'> {
  const { terminating, serving, nodeName, nodeHints = [], zoneHints = [] } = endpoint
  if (nearness === undefined && !backend.local) {
    const where = nodeName === '' ? 'on a node that its slice does not name' : `on node ${nodeName}`
    return { reason: 'otherNode', text: where }
  }
  if (!isReady && terminating) {
    const how = serving ? 'terminating, and others are ready' : 'terminating, and serves no more'
    return { reason: 'terminating', text: how }
  }
  if (!isReady) return { reason: 'notReady', text: 'not ready' }
  return nearness?.by === 'nodeHints'
    ? { reason: 'hintedForOtherNodes', text: `hinted for node ${nodeHints.join(', ')}` }
    : { reason: 'hintedForOtherZones', text: `hinted for zone ${zoneHints.join(', ')}` }
}
