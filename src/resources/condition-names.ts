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
