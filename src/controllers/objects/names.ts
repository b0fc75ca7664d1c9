/** Labels and annotations that these controllers write, as the ecosystem spells them. */
export const SERVICE_NAME = 'kubernetes.io/service-name'
export const SLICE_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by'
export const SKIP_MIRROR = 'endpointslice.kubernetes.io/skip-mirror'
export const ENDPOINTS_MANAGED_BY = 'endpoints.kubernetes.io/managed-by'
export const HEADLESS = 'service.kubernetes.io/headless'
export const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity'
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time'
/** Whoever holds a lock in this annotation uses the Endpoints as a lock and not as endpoints. */
export const LEADER = 'control-plane.alpha.kubernetes.io/leader'
/** Condition of a Service: whether it has the addresses that it asks a load balancer for. */
export const LOAD_BALANCER_CONDITION = 'orch.io/LoadBalancerAddress'
/** Condition of a Pod that is about to go for reasons that are not its own. */
export const DISRUPTION = 'DisruptionTarget'
/** Reason of that condition: the node of the Pod is gone. */
export const NODE_GONE = 'DeletionByPodGC'
