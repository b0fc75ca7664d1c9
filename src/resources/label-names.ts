/** Names of labels, annotations, finalizers and conditions, as in Kubernetes. `NAMES` has those with alternatives. */

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

/** Annotations of a Deployment and its ReplicaSets: the revision, and those that a ReplicaSet had before. */
export const REVISION = 'deployment.kubernetes.io/revision'
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history'
/** Annotations of a ReplicaSet, from when it was last scaled: `spec.replicas` of its Deployment, and that plus maxSurge. */
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas'
/** Annotations that are not copied between a Deployment and its ReplicaSets: each object has its own. */
export const NOT_COPIED: readonly string[] = [
  LAST_APPLIED,
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  'deprecated.deployment.rollback.to',
]

/** Label of roles and bindings that a server creates itself. */
export const BOOTSTRAPPING = 'kubernetes.io/bootstrapping'

/** Finalizers that the API server sets and the controllers remove. */

/** The object is deleted after its dependents. */
export const FOREGROUND = 'foregroundDeletion'
/** The object is deleted when its dependents no longer refer to it. */
export const ORPHAN = 'orphan'
/** In `spec.finalizers` of a Namespace: the Namespace is deleted once it is empty. */
export const EMPTIED = 'kubernetes'

/** Types and reasons of conditions that several modules use. */

/** Type of Pods and Nodes. */
export const READY = 'Ready'
/** Reason of `Ready` when the node is silent: readiness was withdrawn, and returns when the node reports again. */
export const NODE_SILENT = 'NodeStatusUnknown'

/** Type of a Pod that is about to be removed for external reasons. */
export const DISRUPTION = 'DisruptionTarget'
/** Reason of `DisruptionTarget`: the node of the Pod does not exist any more. */
export const NODE_GONE = 'DeletionByPodGC'

/** Type of a Service: whether it has the addresses that it requests from a load balancer. */
export const LOAD_BALANCER_CONDITION = 'orch.io/LoadBalancerAddress'
/** Type of a Service: whether its endpoints carry the zone hints that an annotation requests. */
export const TOPOLOGY_CONDITION = 'orch.io/TopologyAwareHints'
