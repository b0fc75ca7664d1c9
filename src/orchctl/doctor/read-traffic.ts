import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { InspectedObject } from '../../doctor/evidence/inspected-object.ts'
import type { BackendConnections, TrafficFacts } from '../../doctor/evidence/traffic-facts.ts'
import { hostPort, parseIp } from '../../lib/ip.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import { type NodeFlags, nodeFlagsOf } from '../nodes/node-flags.ts'
import { readLinesOfNodes } from '../nodes/read-nodes.ts'

/**
 * The evidence with the connections of the inspected Service by backend, as the node-proxy of each node counts them. Nodes
 * that cannot be read count nothing; that they cannot is said where their facts are read.
 */
export async function withTraffic(
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
  context: CommandContext,
  flags: NodeFlags,
): Promise<ClusterEvidence> {
  if (inspected?.kind !== 'service') return evidence
  const traffic = await readTraffic(inspected.key, evidence.all('nodes'), context, flags)
  return evidence.with({ traffic })
}

async function readTraffic(
  service: string,
  nodes: readonly JsonObject[],
  context: CommandContext,
  flags: NodeFlags,
): Promise<readonly TrafficFacts[]> {
  const answers = await readLinesOfNodes(nodes, context, {
    ...{ path: '/inspection/v1/traffic', query: { service } },
    ...nodeFlagsOf(flags),
  })
  return answers.flatMap(({ node, result }) =>
    result.ok ? result.lines.flatMap((line) => trafficOf(node, service, line)) : [],
  )
}

/** One for each port and family: their backends are others. Ports whose connections are not counted are left out. */
function trafficOf(node: string, service: string, line: JsonObject): readonly TrafficFacts[] {
  if (stringAt(line, 'service') !== service) return []
  const byEntry = Map.groupBy(arrayAt(line, 'backends'), (one) => stringAt(one, 'entry'))
  return [...byEntry.values()].flatMap((all): TrafficFacts[] => {
    const backends = all.flatMap(connectionsOf)
    return backends.length === all.length ? [{ node, service, backends }] : []
  })
}

function connectionsOf(backend: Json): readonly BackendConnections[] {
  const ip = parseIp(stringAt(backend, 'ip'))
  const port = valueAt(backend, 'port')
  const connections = scalarText(valueAt(backend, 'traffic', 'connections'))
  if (ip === undefined || typeof port !== 'number' || !/^[0-9]{1,15}$/.test(connections)) return []
  return [{ backend: hostPort(ip, port), connections: Number(connections) }]
}
