/**
 * Who has which address.
 *
 *     pod1  pod2  pod3                          10.244.0.11, .12, .13
 *       └─────┴─────┴── cbr0 [ node ] eth0 ──┬── lan [ control ]   192.0.2.1: API server, default route
 *                 10.244.0.1      192.0.2.10 └── eth0 [ client ]   192.0.2.20 and 192.0.2.66
 *
 * Networks of the documentation (RFC 5737) and of many a cluster; they exist
 * only inside the sandbox's namespaces.
 */
export const NODE_NAME = 'sandbox-node'
export const NODE_IP = '192.0.2.10'

export const BRIDGE = 'cbr0'
/** Its own: one that a bridge takes from its ports changes with them, and clients keep the old one. */
export const BRIDGE_MAC = '02:00:00:00:00:01'
/** The node's address on the pods' bridge: what a pod sees of masqueraded clients. */
export const GATEWAY = '10.244.0.1'
export const POD_NETWORK = '10.244.0.0/16'
export const SERVICE_NETWORK = '10.96.0.0/16'
/** Addresses of load balancers; the client's network routes them to the node. */
export const LOAD_BALANCER_NETWORK = '198.51.100.0/24'

export const CONTROL_IP = '192.0.2.1'
export const API_PORT = 6443

export const CLIENT_IP = '192.0.2.20'
/** The client's second address, which source ranges keep out. */
export const STRANGER_IP = '192.0.2.66'

export interface PodPlan {
  /** `pod-1`. */
  readonly name: string
  /** Place of its namespace: `pod1`. */
  readonly place: string
  readonly ip: string
}

export const PODS: readonly PodPlan[] = [1, 2, 3].map((serial) => ({
  name: `pod-${serial}`,
  place: `pod${serial}`,
  ip: `10.244.0.${10 + serial}`,
}))
