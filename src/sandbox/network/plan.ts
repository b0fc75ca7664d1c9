/**
 * Who has which address.
 *
 *     pod-1 pod-2 pod-3                         10.244.0.2 and so on
 *       └─────┴─────┴── cbr0 [ node ] eth0 ──┬── lan [ control ]   192.0.2.1: default route
 *                 10.244.0.1      192.0.2.10 └── eth0 [ client ]   192.0.2.20 and 192.0.2.66
 *
 * Networks of the documentation (RFC 5737) and of many a cluster; they exist
 * only inside the sandbox's namespaces. Of the pods and their bridge the node
 * agent takes care.
 */
export const NODE_NAME = 'sandbox-node'
export const NODE_IP = '192.0.2.10'

export const BRIDGE = 'cbr0'
/** The node's address on the pods' bridge: what a pod sees of masqueraded clients. */
export const GATEWAY = '10.244.0.1'
/** The Service cluster-dns, which the resolv.conf of pods names. */
export const DNS_IP = '10.96.0.53'
export const POD_NETWORK = '10.244.0.0/24'
export const SERVICE_NETWORK = '10.96.0.0/16'
/** Addresses of load balancers; the client's network routes them to the node. */
export const LOAD_BALANCER_NETWORK = '198.51.100.0/24'
export const LOAD_BALANCER_POOL = '198.51.100.10-198.51.100.19'

/** Of node and client. */
export const LAN = '192.0.2.0/24'
export const CONTROL_IP = '192.0.2.1'

export const CLIENT_IP = '192.0.2.20'
/** The client's second address, which source ranges keep out. */
export const OTHER_CLIENT_IP = '192.0.2.66'

/** Names of the pods; the node agent gives them namespaces and addresses. */
export const PODS: readonly string[] = ['pod-1', 'pod-2', 'pod-3']
