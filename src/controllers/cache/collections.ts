import type { JsonObject } from '../../lib/json.ts'
import { canonicalAddress } from '../../lib/legacy-address.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'
import { type NodeObject, readNode } from '../objects/node-object.ts'
import {
  controllerOf,
  keyOf,
  type MetadataObject,
  type ObjectMeta,
  readMetadataObject,
} from '../objects/object-meta.ts'
import {
  type BudgetObject,
  type ClusterRoleObject,
  type ConfigMapObject,
  type EndpointsObject,
  type LeaseObject,
  type NamespaceObject,
  readBudget,
  readClusterRole,
  readConfigMap,
  readEndpoints,
  readLease,
  readNamespace,
  readSigningRequest,
  readSlice,
  type SigningRequestObject,
  type SliceObject,
} from '../objects/plain-objects.ts'
import { type PodObject, readPod } from '../objects/pod-object.ts'
import type { Resources } from '../objects/resources.ts'
import { type RevisionObject, readRevision } from '../objects/revision-object.ts'
import { readSecret, type SecretObject } from '../objects/secret-object.ts'
import { readService, type ServiceObject } from '../objects/service-object.ts'
import { readWorkload, type WorkloadObject } from '../objects/workload-object.ts'
import { COLLECTION_ROUTES, type CollectionName } from './collection-route.ts'

/** Everything that a controller may read, by the name of its collection. */
export interface Objects {
  readonly services: ServiceObject
  readonly pods: PodObject
  readonly nodes: NodeObject
  readonly leases: LeaseObject
  readonly endpoints: EndpointsObject
  readonly endpointslices: SliceObject
  readonly namespaces: NamespaceObject
  readonly configmaps: ConfigMapObject
  readonly secrets: SecretObject
  readonly serviceaccounts: MetadataObject
  readonly controllerrevisions: RevisionObject
  readonly daemonsets: WorkloadObject
  readonly deployments: WorkloadObject
  readonly replicasets: WorkloadObject
  readonly statefulsets: WorkloadObject
  readonly jobs: WorkloadObject
  readonly networkpolicies: MetadataObject
  readonly clusternetworkpolicies: MetadataObject
  readonly roles: MetadataObject
  readonly rolebindings: MetadataObject
  readonly clusterroles: ClusterRoleObject
  readonly clusterrolebindings: MetadataObject
  readonly certificatesigningrequests: SigningRequestObject
  readonly poddisruptionbudgets: BudgetObject
  readonly runtimeclasses: MetadataObject
  readonly csidrivers: MetadataObject
  readonly csinodes: MetadataObject
  readonly volumeattachments: MetadataObject
}

/** How the objects of a collection are decoded, and the groups by which controllers find them. */
export interface CollectionSpec<T> {
  readonly decode: (object: JsonObject) => T
  /** Names of the groups by which controllers find the object. */
  readonly groups: (object: T) => readonly string[]
  /** What an object adds to the totals of the collection (see `Totals`). */
  readonly totals?: (object: T) => Totals
  /** The name of the totals to which it adds, such as that of its node; absent: all add to those of the empty name. */
  readonly totalsName?: (object: T) => string
  /** The field that the sender of heartbeats changes with each one; empty: the object has none. */
  readonly heartbeat?: (object: T) => string
}

const METADATA_ONLY: CollectionSpec<MetadataObject> = {
  decode: readMetadataObject,
  groups: () => [],
}

const WORKLOAD: CollectionSpec<WorkloadObject> = { decode: readWorkload, groups: () => [] }

/** How each collection is decoded and grouped. */
export const COLLECTIONS: { readonly [K in CollectionName]: CollectionSpec<Objects[K]> } = {
  services: {
    decode: readService,
    groups: ({ meta, selector, loadBalancer, distribution }) => [
      ...Object.entries(selector ?? {})
        .slice(0, 1)
        .map((label) => labelGroup(meta.namespace, label)),
      ...loadBalancer.ingress.map(ingressGroup),
      ...(loadBalancer.condition.status === 'False' ? [WAITING_GROUP] : []),
      ...(loadBalancer.sharingKey === '' ? [] : [sharingGroup(loadBalancer.sharingKey)]),
      ...loadBalancer.requestedIPs.map((ip) => requestGroup(canonicalAddress(ip))),
      ...(distribution === 'Auto' ? [AUTO_HINTS_GROUP] : []),
    ],
  },
  pods: {
    decode: readPod,
    groups: ({ meta, nodeName, finished, placement, antiAffinity }) => [
      ...orphansOf({ meta }),
      ...Object.entries(meta.labels).map((label) => labelGroup(meta.namespace, label)),
      nodeGroup(nodeName),
      ...(finished ? [FINISHED_GROUP] : []),
      ...(placement === undefined ? [] : [UNBOUND_GROUP]),
      ...(antiAffinity.length === 0 || nodeName === '' ? [] : [REPELLING_GROUP]),
    ],
    totals: takenBy,
    totalsName: ({ nodeName }) => nodeName,
  },
  nodes: {
    decode: readNode,
    groups: () => [],
    totals: capacityOf,
    heartbeat: ({ heartbeatAt }) => heartbeatAt,
  },
  leases: { decode: readLease, groups: () => [], heartbeat: ({ renewedAt }) => renewedAt },
  endpoints: { decode: readEndpoints, groups: () => [] },
  endpointslices: {
    decode: readSlice,
    groups: ({ meta }) => [`${meta.namespace}/${meta.labels[SERVICE_NAME] ?? ''}`],
  },
  namespaces: { decode: readNamespace, groups: () => [] },
  configmaps: { decode: readConfigMap, groups: () => [] },
  secrets: {
    decode: readSecret,
    groups: ({ meta, token }) =>
      token === undefined ? [] : [accountGroup(keyOf({ ...meta, name: token.accountName }))],
  },
  serviceaccounts: METADATA_ONLY,
  controllerrevisions: { decode: readRevision, groups: orphansOf },
  daemonsets: WORKLOAD,
  deployments: WORKLOAD,
  replicasets: { ...WORKLOAD, groups: orphansOf },
  statefulsets: WORKLOAD,
  jobs: WORKLOAD,
  networkpolicies: METADATA_ONLY,
  clusternetworkpolicies: METADATA_ONLY,
  roles: METADATA_ONLY,
  rolebindings: METADATA_ONLY,
  clusterroles: {
    decode: readClusterRole,
    groups: (one) => (one.isAggregated ? [AGGREGATED_GROUP] : []),
  },
  clusterrolebindings: METADATA_ONLY,
  certificatesigningrequests: {
    decode: readSigningRequest,
    groups: (one) => (one.isPending ? [PENDING_REQUESTS_GROUP] : []),
  },
  poddisruptionbudgets: { decode: readBudget, groups: () => [] },
  runtimeclasses: METADATA_ONLY,
  csidrivers: METADATA_ONLY,
  csinodes: METADATA_ONLY,
  volumeattachments: METADATA_ONLY,
}

/** Pods of a namespace that have a label; Services of the namespace whose selector has that label as its first one. */
export function labelGroup(namespace: string, [key, value]: readonly [string, string]): string {
  return `${namespace}/${key}=${value}`
}

/** Services whose load balancer status contains this address. */
export function ingressGroup(ip: string): string {
  return `ingress ${ip}`
}

/** Services that request this address of a load balancer. */
export function requestGroup(ip: string): string {
  return `requesting ${ip}`
}

/** Services that share an address by this key. */
export function sharingGroup(key: string): string {
  return `sharing ${key}`
}

/** Services that request addresses of a load balancer and have not got all of them. */
export const WAITING_GROUP = 'waiting for ingress'

/** Services whose endpoints get zone hints in proportion to the processors of each zone. */
export const AUTO_HINTS_GROUP = 'auto hints'

/** Pods whose containers have ended for good. */
export const FINISHED_GROUP = 'finished'

/** Pods that the scheduler has to bind. */
export const UNBOUND_GROUP = 'unbound'

/** Bound Pods with anti-affinity: some other Pods must not run on the same node, or in the same zone. */
export const REPELLING_GROUP = 'repelling'

/** Secrets for a token of the account with this key. */
export function accountGroup(key: string): string {
  return `account ${key}`
}

/** ClusterRoles whose rules are aggregated from other ClusterRoles. */
export const AGGREGATED_GROUP = 'aggregated'

/** CertificateSigningRequests that are neither denied nor failed, and have no certificate. */
export const PENDING_REQUESTS_GROUP = 'pending requests'

/** Objects that name the object with this uid as an owner; a group of every collection. */
export function ownerGroup(uid: string): string {
  return `owner ${uid}`
}

/** Pods, ReplicaSets and ControllerRevisions of a namespace that no owner controls. */
export function orphanGroup(namespace: string): string {
  return `orphans of ${namespace}`
}

function orphansOf({ meta }: MetadataObject): readonly string[] {
  return controllerOf(meta) === undefined ? [orphanGroup(meta.namespace)] : []
}

/** All groups of an object. */
export function groupsOf<K extends CollectionName>(name: K, object: Objects[K]): readonly string[] {
  const { owners, namespace }: ObjectMeta = object.meta
  return [
    ...COLLECTIONS[name].groups(object),
    ...(namespace === '' ? [] : [namespaceGroup(namespace)]),
    ...owners.map(({ uid }) => ownerGroup(uid)),
  ]
}

/** Objects that are in a namespace; a group of every collection. */
export function namespaceGroup(namespace: string): string {
  return `in ${namespace}`
}

/** Pods of a node. */
export function nodeGroup(nodeName: string): string {
  return `node ${nodeName}`
}

/** The path of a collection, such as `/api/v1/namespaces/shop/endpoints`, or with a name that of one object. */
export function pathOf(collection: CollectionName, namespace: string, name?: string): string {
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`
  return `${COLLECTION_ROUTES[collection].root}${scope}/${collection}${object}`
}

/** What one object adds to totals of its collection: names and whole numbers. */
export type Totals = readonly (readonly [name: string, amount: number])[]

/** The processors of the nodes that run Pods, as the Nodes report them. */
export interface ZoneCapacity {
  /** Thousandths of processors of the ready nodes in each zone; greater than 0. */
  readonly zones: ReadonlyMap<string, number>
  /** Ready nodes without a zone or without allocatable processors. */
  readonly incomplete: number
}

const INCOMPLETE = 'incomplete'
const ZONE = 'zone '
/** Ten thousand processors. No machine has more, and sums over 5,000 such nodes are exact. */
const MAX_CPU_MILLIS = 1e7

/** What a Node adds to the capacity. Nodes that are not ready, and nodes of the control plane, add nothing. */
export function capacityOf({ zone, allocatable, controlPlane, readiness }: NodeObject): Totals {
  if (controlPlane || readiness.status !== 'True') return []
  const { cpuMillis } = allocatable
  const isKnown = zone !== '' && cpuMillis > 0 && cpuMillis <= MAX_CPU_MILLIS
  return isKnown ? [[`${ZONE}${zone}`, cpuMillis]] : [[INCOMPLETE, 1]]
}

/** The capacity from the totals of all Nodes. */
export function readCapacity(totals: ReadonlyMap<string, number>): ZoneCapacity {
  const zones = [...totals]
    .filter(([name]) => name.startsWith(ZONE))
    .map(([name, millis]): [string, number] => [name.slice(ZONE.length), millis])
  return { zones: new Map(zones), incomplete: totals.get(INCOMPLETE) ?? 0 }
}

/** The names of the totals of a node: sums of what its Pods request. Extended resources count by their own names. */
export const TAKEN = {
  pods: 'pods',
  cpuMillis: 'cpu',
  memory: 'memory',
  storage: 'ephemeral-storage',
  /** Processor and memory for comparing nodes, in which a Pod without requests counts as `ASSUMED`. */
  assumedCpu: 'assumed cpu',
  assumedMemory: 'assumed memory',
} as const

/** What a Pod without requests is assumed to take, as in Kubernetes: a tenth of a processor, and 200 MiB. */
const ASSUMED = { cpuMillis: 100, memory: 200 * 1024 * 1024 }

/** Processor and memory of a Pod for comparing nodes. */
export function assumedOf({ cpuMillis, memory }: Resources): typeof ASSUMED {
  return { cpuMillis: cpuMillis || ASSUMED.cpuMillis, memory: memory || ASSUMED.memory }
}

/** What a Pod takes of its node; nothing once it has ended. */
function takenBy({ nodeName, finished, requests }: PodObject): Totals {
  if (nodeName === '' || finished) return []
  const { cpuMillis, memory, storage, others } = requests
  const assumed = assumedOf(requests)
  return [
    [TAKEN.pods, 1],
    [TAKEN.cpuMillis, cpuMillis],
    [TAKEN.memory, memory],
    [TAKEN.storage, storage],
    [TAKEN.assumedCpu, assumed.cpuMillis],
    [TAKEN.assumedMemory, assumed.memory],
    ...Object.entries(others),
  ]
}
