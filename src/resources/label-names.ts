/** Labels and annotations that are written, by their names in Kubernetes; `NAMES` has those that are read. */

/** Label of a Namespace: its own name. */
export const NAMESPACE_NAME = 'kubernetes.io/metadata.name'

/** Label of a Node, and in the past of endpoints, which now have fields for it. */
export const HOSTNAME = 'kubernetes.io/hostname'
export const OPERATING_SYSTEM = 'kubernetes.io/os'
export const ARCHITECTURE = 'kubernetes.io/arch'
export const ZONE = 'topology.kubernetes.io/zone'

/** Labels of a slice: the Service that it belongs to, and the controller that manages it. */
export const SERVICE_NAME = 'kubernetes.io/service-name'
export const SLICE_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by'

/** Labels of Endpoints: the controller that manages them, and whether they are not mirrored as slices. */
export const ENDPOINTS_MANAGED_BY = 'endpoints.kubernetes.io/managed-by'
export const SKIP_MIRROR = 'endpointslice.kubernetes.io/skip-mirror'
/** Annotation of Endpoints: a record of leader election, if clients use Endpoints instead of a Lease. */
export const LEADER_ELECTION = 'control-plane.alpha.kubernetes.io/leader'

/** Of slices and Endpoints: the Service is headless, endpoints were left out, the time of the last change. */
export const HEADLESS = 'service.kubernetes.io/headless'
export const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity'
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time'

/** The object as `kubectl apply` sent it last. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Label of roles and bindings that a server creates itself. */
export const BOOTSTRAPPING = 'kubernetes.io/bootstrapping'

/** Finalizers that the API server sets and the controllers remove. */

/** The object is deleted after its dependents. */
export const FOREGROUND = 'foregroundDeletion'
/** The object is deleted when its dependents no longer refer to it. */
export const ORPHAN = 'orphan'
/** In `spec.finalizers` of a Namespace: the Namespace is deleted once it is empty. */
export const EMPTIED = 'kubernetes'
