import { NodeProxyError } from '../../../lib/error.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import type { NetworkPolicy } from '../../../networkpolicy/objects/network-policy.ts'
import { readPolicy } from '../../../networkpolicy/objects/read-policy.ts'
import { type ClusterReader, ownAddresses } from '../connection/cluster-reader.ts'

/** Addresses without a Pod of the Service that are searched in the whole cluster. */
const MAX_SEARCHES = 10

/** What a connection is explained with beside the document of the node. */
export interface ClusterObjects {
  /** Undefined: no Service claims the connection, or it is not known. */
  readonly service: JsonObject | undefined
  readonly nodes: readonly JsonObject[]
  /** By the addresses that they have for themselves. */
  readonly pods: ReadonlyMap<IpAddress, JsonObject>
  /** Undefined: they are not known. */
  readonly policies: PolicyObjects | undefined
  /** What could not be read, with the reason. */
  readonly unread: readonly string[]
}

/** The NetworkPolicies of the namespaces of the Pods, and the labels of those namespaces. */
export interface PolicyObjects {
  readonly policies: readonly NetworkPolicy[]
  readonly labels: ReadonlyMap<string, JsonObject>
}

/** What is to be read. */
export interface WantedObjects {
  /** `namespace/name` of the Service; empty: none. */
  readonly service: string
  /** Of the source and of backends. */
  readonly addresses: readonly IpAddress[]
  readonly sourcePod: JsonObject | undefined
}

/** Reads what names a connection, as far as the user may. */
export async function readCluster(
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
  const policies = await attempt(unread, 'NetworkPolicies', () => readPolicies(ends, reader))
  return { service, nodes, pods, policies, unread }
}

async function readPolicies(
  pods: readonly JsonObject[],
  reader: ClusterReader,
): Promise<PolicyObjects> {
  const names = [...new Set(pods.map((pod) => stringAt(pod, 'metadata', 'namespace')))]
  const lists = await Promise.all(names.map((name) => reader.networkPolicies(name)))
  const policies = lists.flat().map(readPolicy)
  const labels = new Map<string, JsonObject>()
  if (policies.length === 0) return { policies, labels }
  for (const name of names) {
    labels.set(name, objectAt(await reader.namespace(name), 'metadata', 'labels'))
  }
  return { policies, labels }
}

/** Undefined: it could not be read, which is noted with the reason. */
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
