import { NodeProxyError } from '../../lib/error.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import type { AnyPolicy } from '../../networkpolicy/judge-connection.ts'
import { readClusterPolicy } from '../../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import { NAMES } from '../../resources/names.ts'
import { decodeNode } from '../../resources/node.ts'
import type { Protocol } from '../../resources/types.ts'
import { nodeAddresses } from '../nodes/node-inspection.ts'
import { type ClusterReader, ownAddresses } from './cluster-reader.ts'
import type { ConnectionQuery } from './connection-query.ts'
import {
  judgePolicies,
  type PolicyJudgement,
  type ReachedBackend,
  reachedBackends,
} from './judge-policies.ts'

/** An address with the names that the API has for it. */
export interface NamedEnd {
  readonly ip: IpAddress
  /** `namespace/name`; absent: no Pod has the address, or the Pod is not known. */
  readonly pod?: string
  readonly node?: string
  readonly zone?: string
}

/** The most addresses that are searched in the whole cluster because no Pod of the Service has them. */
const MAX_SEARCHES = 10

/** A backend, or a left-out endpoint, with its names. */
export interface NamedBackend extends NamedEnd {
  readonly port: number
}

/** What objects of the API add to the explanation of a connection by a node. */
export interface ClusterFacts {
  /** Without an address: a process of the node. */
  readonly source: Omit<NamedEnd, 'ip'> & { readonly ip?: IpAddress }
  readonly service?: ServiceFacts
  readonly backends: readonly NamedBackend[]
  /** With the reason that the node gives. */
  readonly leftOut: readonly (NamedBackend & { readonly text: string })[]
  /** One judgement for each backend; absent: the NetworkPolicies are not known. */
  readonly networkPolicies?: readonly PolicyJudgement[]
  /** What could not be read, with the reason. */
  readonly unread: readonly string[]
}

/**
 * Names the ends of an explained connection, and judges it by the NetworkPolicies, as far as the user may read them.
 */
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
    policies,
    protocol,
    nodes,
    source,
    node: query.node,
    labelsOf: (namespace: string) => labels.get(namespace) ?? {},
    sourcePod: query.sourcePod ?? (source && pods.get(source)),
  }
  return { networkPolicies: reached.map((one) => judgePolicies(judged, one, pods.get(one.ip))) }
}

/** The fields of a Service from which controllers give its endpoints topology hints. */
interface ServiceFacts {
  /** `namespace/name` */
  readonly name: string
  readonly internalTrafficPolicy: string
  readonly externalTrafficPolicy: string
  /** `spec.trafficDistribution`; empty: not set. */
  readonly trafficDistribution: string
  /** The annotation for hints in proportion to processors; empty: not set. */
  readonly topologyMode: string
}

/** Reads them from the object. */
function serviceFacts(service: JsonObject): ServiceFacts {
  const annotations = objectAt(service, 'metadata', 'annotations')
  const [topologyMode = ''] = NAMES.topologyMode.flatMap(
    (name) => stringAt(annotations, name) || [],
  )
  return {
    name: objectKey(service),
    internalTrafficPolicy: stringAt(service, 'spec', 'internalTrafficPolicy') || 'Cluster',
    externalTrafficPolicy: stringAt(service, 'spec', 'externalTrafficPolicy') || 'Cluster',
    trafficDistribution: stringAt(service, 'spec', 'trafficDistribution'),
    topologyMode,
  }
}

/** The objects that explain a connection, in addition to the document of the node. */
interface ClusterObjects {
  /** Undefined: no Service claims the connection, or the Service is not known. */
  readonly service: JsonObject | undefined
  readonly nodes: readonly JsonObject[]
  /** By their own addresses: Pods on the network of their node have none. */
  readonly pods: ReadonlyMap<IpAddress, JsonObject>
  /** Undefined: they are not known. */
  readonly policies: PolicyObjects | undefined
  /** What could not be read, with the reason. */
  readonly unread: readonly string[]
}

/** The NetworkPolicies of the namespaces of the Pods, all ClusterNetworkPolicies, and the labels of those namespaces. */
interface PolicyObjects {
  readonly policies: readonly AnyPolicy[]
  readonly labels: ReadonlyMap<string, JsonObject>
}

/** The objects to read. */
interface WantedObjects {
  /** `namespace/name` of the Service; empty: none. */
  readonly service: string
  /** The addresses of the source and of backends. */
  readonly addresses: readonly IpAddress[]
  readonly sourcePod: JsonObject | undefined
}

/** Reads the objects that name the ends of a connection, as far as the user may. */
async function readCluster(
  { service: key, addresses, sourcePod }: WantedObjects,
  reader: ClusterReader,
): Promise<ClusterObjects> {
  const unread: string[] = []
  const [namespace = '', name = ''] = key.split('/')
  const service =
    key === ''
      ? undefined
      : await attempt(unread, 'the Service', () => reader.service(namespace, name))
  const selector = objectAt(service, 'spec', 'selector')
  const listed =
    service === undefined
      ? []
      : await attempt(unread, 'Pods', () => reader.pods(namespace, selector))
  const pods = new Map<IpAddress, JsonObject>()
  const add = (pod: JsonObject) => {
    for (const ip of ownAddresses(pod)) pods.set(ip, pod)
  }
  for (const pod of listed ?? []) add(pod)
  if (sourcePod !== undefined) add(sourcePod)
  const nodes = (await attempt(unread, 'nodes', () => reader.nodes())) ?? []
  const missing = addresses.filter((ip) => !pods.has(ip))
  for (const ip of missing.slice(0, listed === undefined ? 0 : MAX_SEARCHES)) {
    const found = await attempt(unread, `the Pod of ${ip}`, () => reader.podOf(ip))
    if (found !== undefined) add(found)
  }
  const ends = addresses.map((ip) => pods.get(ip)).filter((pod) => pod !== undefined)
  const ofCluster = await attempt(unread, 'ClusterNetworkPolicies', () => reader.clusterPolicies())
  const policies = await attempt(unread, 'NetworkPolicies', () =>
    readPolicies(ends, ofCluster ?? [], reader),
  )
  return { service, nodes, pods, policies, unread }
}

async function readPolicies(
  pods: readonly JsonObject[],
  ofCluster: readonly JsonObject[],
  reader: ClusterReader,
): Promise<PolicyObjects> {
  const names = [...new Set(pods.map((pod) => stringAt(pod, 'metadata', 'namespace')))]
  const lists = await Promise.all(names.map((name) => reader.networkPolicies(name)))
  const policies = [
    ...lists.flat().map(readPolicy),
    ...ofCluster.map((one) => readClusterPolicy(one).policy),
  ]
  const labels = new Map<string, JsonObject>()
  if (policies.length === 0) return { policies, labels }
  for (const name of names) {
    labels.set(name, objectAt(await reader.namespace(name), 'metadata', 'labels'))
  }
  return { policies, labels }
}

/** Returns what `read` returns. Undefined: that failed, and the reason is added to `unread`. */
async function attempt<T>(
  unread: string[],
  what: string,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    unread.push(`${what}: ${error.message}`)
    return undefined
  }
}

/** The objects that addresses are named from. */
interface KnownObjects {
  readonly nodes: readonly JsonObject[]
  /** By their own addresses: Pods on the network of their node have none. */
  readonly pods: ReadonlyMap<IpAddress, JsonObject>
}

/** Names an address. `node`: the node to name if no Pod has the address. */
function nameEnd(ip: IpAddress, known: KnownObjects, node = ''): NamedEnd {
  return { ip, ...nameOf(known.pods.get(ip), known, node) }
}

/** The names of a Pod and its node; without a Pod, the names of `node`. */
function nameOf(pod: JsonObject | undefined, known: KnownObjects, node = ''): Omit<NamedEnd, 'ip'> {
  const on = stringAt(pod, 'spec', 'nodeName') || node
  const zone = zoneOf(on, known)
  return {
    ...(pod === undefined ? {} : { pod: objectKey(pod) }),
    ...(on === '' ? {} : { node: on }),
    ...(zone === undefined ? {} : { zone }),
  }
}

/** `namespace/name` of an object. */
function objectKey(object: JsonObject): string {
  return `${stringAt(object, 'metadata', 'namespace')}/${stringAt(object, 'metadata', 'name')}`
}

/** The zone of a node; undefined: it has none, or the node is not known. */
function zoneOf(name: string, { nodes }: Pick<KnownObjects, 'nodes'>): string | undefined {
  const node = nodes.find((one) => stringAt(one, 'metadata', 'name') === name)
  const decoded = node === undefined ? undefined : decodeNode(node)
  return decoded?.ok === true ? decoded.value.zone : undefined
}
