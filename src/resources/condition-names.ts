/** Types and reasons of conditions that several modules use. */

/** Of Pods and Nodes. */
export const READY = 'Ready'
/** Reason of that: readiness was taken because the node is silent, and comes back with it. */
export const NODE_SILENT = 'NodeStatusUnknown'

/** Of a Pod that is about to go for reasons that are not its own. */
export const DISRUPTION = 'DisruptionTarget'
/** Reason of that: the node of the Pod is gone. */
export const NODE_GONE = 'DeletionByPodGC'

/** Of a Service: whether it has the addresses that it requests from a load balancer. */
export const LOAD_BALANCER_CONDITION = 'orch.io/LoadBalancerAddress'
/** Of a Service: whether its endpoints carry the zone hints that an annotation requests. */
export const TOPOLOGY_CONDITION = 'orch.io/TopologyAwareHints'
