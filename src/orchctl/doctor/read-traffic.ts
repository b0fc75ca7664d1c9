import type { BackendConnections, TrafficFacts } from '../../doctor/evidence/traffic-facts.ts'
import { hostPort, parseIp } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import type { NodeFlags } from '../nodes/node-flags.ts'
import { readLinesOfNodes } from '../nodes/read-nodes.ts'

/**
 * The connections of a Service by backend, as the node-proxy of each node counts them. Nodes that cannot be read are
 * notices.
 */
export async function readTraffic(
  service: string,
  nodes: readonly JsonObject[],
  context: CommandContext,
  flags: NodeFlags,
): Promise<readonly TrafficFacts[]> {
  const path = '/inspection/v1/traffic'
  const answers = await readLinesOfNodes(nodes, context, { ...flags, path, query: { service } })
  return answers.flatMap(({ node, result }) => {
    if (result.ok) return result.lines.flatMap((line) => trafficOf(node, service, line))
    context.notice(`not checked: traffic of node ${node}: ${result.error.message}`)
    return []
  })
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
