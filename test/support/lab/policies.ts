import { expect } from 'vitest'
import type { ConnectOutcome, Transport } from '../agent/protocol.ts'
import type { Lab } from './lab.ts'
import { NODE_NAME } from './plan.ts'

/** A Pod of the API, whose address a namespace of the lab may have. */
export interface PolicyPod {
  /** `namespace/name` */
  readonly key: string
  readonly ips: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  /** The node under test unless given. */
  readonly nodeName?: string
}

const POLICIES = '/apis/networking.k8s.io/v1'

/** Creates a Pod with its namespace, or replaces it. */
export async function putPod({ api }: Lab, pod: PolicyPod): Promise<void> {
  const [namespace = '', name = ''] = pod.key.split('/')
  const { labels = {}, ips, nodeName = NODE_NAME } = pod
  const metadata = { name: namespace }
  await api.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  const path = `/api/v1/namespaces/${namespace}/pods`
  await api.request('DELETE', `${path}/${name}?gracePeriodSeconds=0`)
  const spec = { nodeName, containers: [{ name: 'main', image: 'none' }] }
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec }
  const created = await api.request('POST', path, object)
  expect(created).toMatchObject({ status: 201 })
  const podIPs = ips.map((ip) => ({ ip }))
  const status = { phase: 'Running', podIP: ips[0], podIPs }
  const written = JSON.parse(created.body) as object
  expect(await api.request('PUT', `${path}/${name}/status`, { ...written, status })).toMatchObject({
    status: 200,
  })
}

/** Creates a NetworkPolicy, or replaces its spec; `group`: one of the two names of the API group. */
export async function putPolicy(
  { api }: Lab,
  key: string,
  spec: object,
  group = 'networking.k8s.io',
): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  const path = `/apis/${group}/v1/namespaces/${namespace}/networkpolicies`
  const metadata = { name, namespace }
  const object = { apiVersion: `${group}/v1`, kind: 'NetworkPolicy', metadata, spec }
  await api.request('DELETE', `${path}/${name}`)
  expect(await api.request('POST', path, object)).toMatchObject({ status: 201 })
}

export async function removePolicy({ api }: Lab, key: string): Promise<void> {
  const path = `${POLICIES}/namespaces/${key.replace('/', '/networkpolicies/')}`
  expect(await api.request('DELETE', path)).toMatchObject({ status: 200 })
}

const CLUSTER_POLICIES = '/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies'

/** Creates a ClusterNetworkPolicy, or changes its spec in place. */
export async function putClusterPolicy({ api }: Lab, name: string, spec: object): Promise<void> {
  const path = `${CLUSTER_POLICIES}/${name}`
  const object = {
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name },
    spec,
  }
  const { status, body } = await api.request('GET', path)
  if (status === 404) {
    expect(await api.request('POST', CLUSTER_POLICIES, object)).toMatchObject({ status: 201 })
    return
  }
  const { metadata } = JSON.parse(body) as { readonly metadata: object }
  const next = { ...object, metadata }
  expect(await api.request('PUT', path, next)).toMatchObject({ status: 200 })
}

export async function removeClusterPolicy({ api }: Lab, name: string): Promise<void> {
  const path = `${CLUSTER_POLICIES}/${name}`
  expect(await api.request('DELETE', path)).toMatchObject({ status: 200 })
}

/** One connection from a Pod to another. */
export interface PodConnection {
  readonly from: string
  readonly to: string
  readonly port: number
  readonly protocol?: Transport
}

/** The kinds of the outcomes of three new connections, without repetitions. */
export async function tryConnecting(
  { connect }: Pick<Lab, 'connect'>,
  { from: source, to: destination, port, protocol = 'TCP' }: PodConnection,
): Promise<readonly ConnectOutcome['kind'][]> {
  const attempt = { source, destination, port, protocol, attempts: 3, timeoutMs: 400 }
  const outcomes = await connect('pod', attempt)
  return [...new Set(outcomes.map(({ kind }) => kind))]
}

/** The tables of policies in the node's kernel: `ip` and `ip6`, or none. */
export async function policyTables({ node }: Pick<Lab, 'node'>): Promise<readonly string[]> {
  const tables = await node.namespace.exec(['nft', 'list', 'tables'])
  return [...tables.matchAll(/^table (\S+) node-proxy-policies$/gm)].map(
    ([, family = '']) => family,
  )
}
