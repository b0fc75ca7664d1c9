/** Addresses of the cluster. Its network is a bridge in the namespace of the tests, which is the router of its nodes. */
export const LAN = { bridge: 'lan', v4: '192.168.77.1', v6: 'fd00:77::1' } as const

/** A second client outside, beside the one at `LAN.v4`. */
export const OTHER_CLIENT = '192.168.77.2'

export const POD_NETWORKS = '10.244.0.0/16,fd00:10:244::/56'
export const SERVICE_NETWORK_V4 = '10.96.0.0/16'
export const SERVICE_NETWORKS = `${SERVICE_NETWORK_V4},fd00:10:96::/112`
/** The address of `kubernetes.default`, the first of the network. */
export const API_CLUSTER_IP = '10.96.0.1'
/** What config/kubernetes/dns/dns.yaml has. */
export const CLUSTER_DNS = '10.96.0.10'
export const API_PORT = 6443

/** Names of nodes, in the order in which they are added; each has a user of the API. */
export const NODE_NAMES = ['node-1', 'node-2', 'node-3'] as const

/** A machine that is no node, where one has a control plane; its address is the one before those of the nodes. */
export const CONTROL_NAME = 'control'
/** The machine whose kernel has ip_vs: no node either. */
export const IPVS_NAME = 'ipvs'
const MACHINES: readonly string[] = [CONTROL_NAME, ...NODE_NAMES, IPVS_NAME]

export interface NodeAddresses {
  readonly v4: string
  readonly v6: string
}

export function nodeAddresses(name: string): NodeAddresses {
  const number = 10 + MACHINES.indexOf(name)
  return { v4: `192.168.77.${number}`, v6: `fd00:77::${number}` }
}
