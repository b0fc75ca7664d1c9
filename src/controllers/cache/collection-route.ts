/** The path and the kind of a collection in the Kubernetes API. */
export interface CollectionRoute {
  /** The path before `namespaces/…` or the plural name. */
  readonly root: string
  readonly kind: string
  readonly namespaced: boolean
}

const CORE = '/api/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** Every collection of the API server except Events, which no object owns and no controller reads. */
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
  deployments: inNamespace('/apis/apps/v1', 'Deployment'),
  networkpolicies: inNamespace('/apis/networking.k8s.io/v1', 'NetworkPolicy'),
  roles: inNamespace(RBAC, 'Role'),
  rolebindings: inNamespace(RBAC, 'RoleBinding'),
  clusterroles: inCluster(RBAC, 'ClusterRole'),
  clusterrolebindings: inCluster(RBAC, 'ClusterRoleBinding'),
} as const satisfies Readonly<Record<string, CollectionRoute>>

function inNamespace(root: string, kind: string): CollectionRoute {
  return { root, kind, namespaced: true }
}

function inCluster(root: string, kind: string): CollectionRoute {
  return { root, kind, namespaced: false }
}

/** The plural of a kind, by which the API names its collection. */
export type CollectionName = keyof typeof COLLECTION_ROUTES

/** Names of all collections. */
export const COLLECTION_NAMES = Object.keys(COLLECTION_ROUTES) as readonly CollectionName[]

/** One value for each collection. */
export function perCollection<T>(
  make: (name: CollectionName) => T,
): Readonly<Record<CollectionName, T>> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, make(name)])) as Record<
    CollectionName,
    T
  >
}
