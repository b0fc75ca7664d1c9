/** The path and the kind of a collection in the Kubernetes API. */
export interface CollectionRoute {
  /** The part of the path before `/namespaces/…` or `/PLURAL`: `/api/v1`, `/apis/apps/v1`. */
  readonly root: string
  /** The kind of the objects: `Service`. */
  readonly kind: string
  readonly namespaced: boolean
}

const CORE = '/api/v1'
const APPS = '/apis/apps/v1'
const STORAGE = '/apis/storage.k8s.io/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/**
 * The collections of the API server, by their plural names. Two are left out: Events, which have no owner
 * and which no controller reads; and ServiceCIDRs, which only the API server writes.
 */
export const COLLECTION_ROUTES = {
  services: inNamespace(CORE, 'Service'),
  pods: inNamespace(CORE, 'Pod'),
  nodes: inCluster(CORE, 'Node'),
  leases: inNamespace('/apis/coordination.k8s.io/v1', 'Lease'),
  endpoints: inNamespace(CORE, 'Endpoints'),
  endpointslices: inNamespace('/apis/discovery.k8s.io/v1', 'EndpointSlice'),
  namespaces: inCluster(CORE, 'Namespace'),
  configmaps: inNamespace(CORE, 'ConfigMap'),
  secrets: inNamespace(CORE, 'Secret'),
  serviceaccounts: inNamespace(CORE, 'ServiceAccount'),
  controllerrevisions: inNamespace(APPS, 'ControllerRevision'),
  daemonsets: inNamespace(APPS, 'DaemonSet'),
  deployments: inNamespace(APPS, 'Deployment'),
  replicasets: inNamespace(APPS, 'ReplicaSet'),
  statefulsets: inNamespace(APPS, 'StatefulSet'),
  jobs: inNamespace('/apis/batch/v1', 'Job'),
  networkpolicies: inNamespace('/apis/networking.k8s.io/v1', 'NetworkPolicy'),
  clusternetworkpolicies: inCluster(
    '/apis/policy.networking.k8s.io/v1alpha2',
    'ClusterNetworkPolicy',
  ),
  roles: inNamespace(RBAC, 'Role'),
  rolebindings: inNamespace(RBAC, 'RoleBinding'),
  clusterroles: inCluster(RBAC, 'ClusterRole'),
  clusterrolebindings: inCluster(RBAC, 'ClusterRoleBinding'),
  certificatesigningrequests: inCluster(
    '/apis/certificates.k8s.io/v1',
    'CertificateSigningRequest',
  ),
  poddisruptionbudgets: inNamespace('/apis/policy/v1', 'PodDisruptionBudget'),
  runtimeclasses: inCluster('/apis/node.k8s.io/v1', 'RuntimeClass'),
  csidrivers: inCluster(STORAGE, 'CSIDriver'),
  csinodes: inCluster(STORAGE, 'CSINode'),
  volumeattachments: inCluster(STORAGE, 'VolumeAttachment'),
} as const satisfies Readonly<Record<string, CollectionRoute>>

/** The plural name of a kind, which names its collection in paths of the API: `services`. */
export type CollectionName = keyof typeof COLLECTION_ROUTES

/** The names of all collections in `COLLECTION_ROUTES`. */
export const COLLECTION_NAMES = Object.keys(COLLECTION_ROUTES) as readonly CollectionName[]

/** How the objects of a collection name their type: `apps/v1` and `Deployment`, or `v1` and `Pod`. */
export function typeOf(collection: CollectionName): { apiVersion: string; kind: string } {
  const { root, kind } = COLLECTION_ROUTES[collection]
  return { apiVersion: root.replace(/^\/apis?\//, ''), kind }
}

/** The group of an API version: `apps` for `apps/v1`, empty for `v1`. */
export function groupOf(apiVersion: string): string {
  const [group = '', version] = apiVersion.split('/')
  return version === undefined ? '' : group
}

/** Calls `make` for each collection, and returns the results by the name of the collection. */
export function perCollection<T>(
  make: (name: CollectionName) => T,
): Readonly<Record<CollectionName, T>> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, make(name)])) as Record<
    CollectionName,
    T
  >
}

function inNamespace(root: string, kind: string): CollectionRoute {
  return { root, kind, namespaced: true }
}

function inCluster(root: string, kind: string): CollectionRoute {
  return { root, kind, namespaced: false }
}
