import { type IpAddress, parseIp } from '../../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'
import type { Protocol } from '../../../resources/types.ts'
import { nodeAddresses } from '../../nodes/node-address.ts'
import type { ClusterReader } from '../connection/cluster-reader.ts'
import type { ConnectionQuery } from '../connection/connection-query.ts'
import { judgePolicies, type PolicyJudgement } from './judge-policies.ts'
import { type NamedEnd, nameEnd, nameOf } from './named-end.ts'
import { type ReachedBackend, reachedBackends } from './reached-backend.ts'
import { type ClusterObjects, readCluster } from './read-cluster.ts'
import { type ServiceFacts, serviceFacts } from './service-facts.ts'

/** A named backend, or endpoint that is left out. */
export interface NamedBackend extends NamedEnd {
  readonly port: number
}

/** What the API says of a connection that a node has explained. */
export interface ClusterFacts {
  /** Without an address: a process of the node. */
  readonly source: Omit<NamedEnd, 'ip'> & { readonly ip?: IpAddress }
  readonly service?: ServiceFacts
  readonly backends: readonly NamedBackend[]
  /** With the reason of the node. */
  readonly leftOut: readonly (NamedBackend & { readonly text: string })[]
  /** By backend; absent: the NetworkPolicies are not known. */
  readonly networkPolicies?: readonly PolicyJudgement[]
  /** What could not be read, with the reason. */
  readonly unread: readonly string[]
}

/** Names the ends of an explained connection, and judges it by the NetworkPolicies, as far as the user may read them. */
export async function clusterFacts(
  query: ConnectionQuery,
  document: JsonObject,
  reader: ClusterReader,
): Promise<ClusterFacts> {
  const source = parseIp(stringAt(document, 'src'))
  const reached = reachedBackends(document)
  const addresses = [...(source === undefined ? [] : [source]), ...reached.map(({ ip }) => ip)]
  const service = stringAt(document, 'desired', 'entry').split(':', 1)[0] ?? ''
  const objects = await readCluster({ service, addresses, sourcePod: query.sourcePod }, reader)
  const leftOut = arrayAt(document, 'desired', 'pool', 'leftOut').flatMap((one) => {
    const ip = parseIp(stringAt(one, 'ip'))
    const port = Number(valueAt(one, 'port'))
    const node = stringAt(one, 'node')
    const text = stringAt(one, 'text')
    return ip === undefined ? [] : [{ ...nameEnd(ip, objects, node), port, text }]
  })
  return {
    source: namedSource(query, source, objects),
    ...(objects.service === undefined ? {} : { service: serviceFacts(objects.service) }),
    backends: reached.map(({ ip, port }) => ({ ...nameEnd(ip, objects), port })),
    leftOut,
    ...policiesOf({ query, source, reached, protocol: protocolOf(document) }, objects),
    unread: objects.unread,
  }
}

function protocolOf(document: JsonObject): Protocol {
  return stringAt(document, 'protocol') as Protocol
}

function namedSource(
  { node, sourcePod }: ConnectionQuery,
  ip: IpAddress | undefined,
  objects: ClusterObjects,
): ClusterFacts['source'] {
  const name = stringAt(node, 'metadata', 'name')
  const isOfNode = ip === undefined || nodeAddresses(node).includes(ip)
  const pod = sourcePod ?? (ip && objects.pods.get(ip))
  return { ...(ip && { ip }), ...nameOf(pod, objects, isOfNode ? name : '') }
}

interface Connection {
  readonly query: ConnectionQuery
  readonly source: IpAddress | undefined
  readonly reached: readonly ReachedBackend[]
  readonly protocol: Protocol
}

function policiesOf(
  { query, source, reached, protocol }: Connection,
  { policies: known, pods, nodes }: ClusterObjects,
): Pick<ClusterFacts, 'networkPolicies'> {
  if (known === undefined) return {}
  const { policies, labels } = known
  const judged = {
    ...{ policies, protocol, nodes, source, node: query.node },
    labelsOf: (namespace: string) => labels.get(namespace) ?? {},
    sourcePod: query.sourcePod ?? (source && pods.get(source)),
  }
  return { networkPolicies: reached.map((one) => judgePolicies(judged, one, pods.get(one.ip))) }
}
