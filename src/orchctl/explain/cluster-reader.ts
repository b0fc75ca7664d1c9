import { cidrContains, type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { nodeAddresses } from '../nodes/node-inspection.ts'
import type { Api } from '../session/api.ts'
import { listObjects } from '../session/list-pages.ts'

const NODES = '/api/v1/nodes'
const PODS = '/api/v1/pods'

/**
 * Reads the objects that decide which node explains a connection, and that name its ends. Every method throws what the
 * server refuses.
 */
export interface ClusterReader {
  pod(namespace: string, name: string): Promise<JsonObject>
  node(name: string): Promise<JsonObject>
  /** All nodes, read once. */
  nodes(): Promise<readonly JsonObject[]>
  /** The node that has an address; undefined: no node has it. */
  nodeOf(ip: IpAddress): Promise<JsonObject | undefined>
  /** The Pod with this address that has not ended; a Pod in the network of its node does not count. Undefined: none. */
  podOf(ip: IpAddress): Promise<JsonObject | undefined>
  /** Pods of a namespace with these labels; without labels all of them. */
  pods(namespace: string, labels: JsonObject): Promise<readonly JsonObject[]>
  service(namespace: string, name: string): Promise<JsonObject>
  namespace(name: string): Promise<JsonObject>
  networkPolicies(namespace: string): Promise<readonly JsonObject[]>
  /** None if the server does not have them. */
  clusterPolicies(): Promise<readonly JsonObject[]>
}

const POLICY_GROUP = 'policy.networking.k8s.io'
const POLICY_VERSION = `${POLICY_GROUP}/v1alpha2`

/** Reads by the API of a session. */
export function clusterReader(api: Api): ClusterReader {
  let listed: Promise<readonly JsonObject[]> | undefined
  const nodes = () => (listed ??= listObjects(api, { path: NODES }))
  const podsWith = (fieldSelector: string) =>
    listObjects(api, { path: PODS, query: { fieldSelector } })
  const get = (namespace: string, kind: string, name: string) =>
    api.send({ path: `/api/v1/namespaces/${namespace}/${kind}/${name}` })
  return {
    nodes,
    pod: (namespace, name) => get(namespace, 'pods', name),
    node: (name) => api.send({ path: `${NODES}/${name}` }),
    nodeOf: async (ip) => (await nodes()).find((node) => nodeAddresses(node).includes(ip)),
    async podOf(ip) {
      const found = (await podsWith(`status.podIP=${ip}`)).find((pod) =>
        ownAddresses(pod).includes(ip),
      )
      if (found !== undefined) return found
      // A field selector compares only the first address of a Pod, so a second one is searched among the Pods of its
      // node.
      const node = (await nodes()).find((one) => hasPodNetworkOf(one, ip))
      if (node === undefined) return undefined
      const name = stringAt(node, 'metadata', 'name')
      return (await podsWith(`spec.nodeName=${name}`)).find((pod) => ownAddresses(pod).includes(ip))
    },
    pods(namespace, labels) {
      const pairs = Object.entries(labels).map(([key, value]) => `${key}=${scalarText(value)}`)
      const query = pairs.length === 0 ? {} : { labelSelector: pairs.join(',') }
      return listObjects(api, { path: `/api/v1/namespaces/${namespace}/pods`, query })
    },
    service: (namespace, name) => get(namespace, 'services', name),
    namespace: (name) => api.send({ path: `/api/v1/namespaces/${name}` }),
    networkPolicies: (namespace) =>
      listObjects(api, {
        path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`,
      }),
    async clusterPolicies() {
      // A server may forbid what it does not have.
      const group = await api.request({ path: `/apis/${POLICY_GROUP}` })
      if (!group.ok && group.failure.code === 404) return []
      const versions = group.ok ? arrayAt(group.value.body, 'versions') : undefined
      const isServed = versions?.some((one) => stringAt(one, 'groupVersion') === POLICY_VERSION)
      if (isServed === false) return []
      return listObjects(api, { path: `/apis/${POLICY_VERSION}/clusternetworkpolicies` })
    },
  }
}

/** The addresses of a Pod, the first one first. */
export function podAddresses(pod: JsonObject): readonly IpAddress[] {
  const all = [
    stringAt(pod, 'status', 'podIP'),
    ...arrayAt(pod, 'status', 'podIPs').map((one) => stringAt(one, 'ip')),
  ]
  return all.flatMap((text) => parseIp(text) ?? [])
}

/** The addresses that belong to the Pod alone; none if it uses the network of its node, or has ended. */
export function ownAddresses(pod: JsonObject): readonly IpAddress[] {
  const phase = stringAt(pod, 'status', 'phase')
  const isGone = phase === 'Succeeded' || phase === 'Failed'
  const isOnHost = valueAt(pod, 'spec', 'hostNetwork') === true
  return isGone || isOnHost ? [] : podAddresses(pod)
}

function hasPodNetworkOf(node: JsonObject, ip: IpAddress): boolean {
  const written = [...arrayAt(node, 'spec', 'podCIDRs'), valueAt(node, 'spec', 'podCIDR')]
  return written.some((text) => {
    const cidr = typeof text === 'string' ? parseCidr(text) : undefined
    return cidr !== undefined && cidrContains(cidr, ip)
  })
}
