import { namespaceOf } from '../run/run.ts'
import { addNamespace, type Namespace, namespaceNamed } from './namespace.ts'

/**
 * The addresses of the sandbox.
 *
 *     pod-1 pod-2 pod-3                         10.244.0.2 and so on
 *       └─────┴─────┴── cbr0 [ node ] eth0 ──┬── lan [ control ]   192.0.2.1: default route
 *                 10.244.0.1      192.0.2.10 └── eth0 [ client ]   192.0.2.20 and 192.0.2.66
 *
 * The networks are those for documentation (RFC 5737), and for Pods and Services those that many clusters use. They
 * exist only inside the sandbox's namespaces. The node agent creates the pods and their bridge.
 */
export const NODE_NAME = 'sandbox-node'
export const NODE_IP = '192.0.2.10'

export const BRIDGE = 'cbr0'
/** The node's address on the pods' bridge, which a pod sees as the source of masqueraded connections. */
export const GATEWAY = '10.244.0.1'
/** The Service cluster-dns, which the resolv.conf of pods names. */
export const DNS_IP = '10.96.0.53'
export const POD_NETWORK = '10.244.0.0/24'
export const SERVICE_NETWORK = '10.96.0.0/16'
/** Addresses of load balancers; the client's network routes them to the node. */
const LOAD_BALANCER_NETWORK = '198.51.100.0/24'
export const LOAD_BALANCER_POOL = '198.51.100.10-198.51.100.19'

/** The network of node and client. */
export const LAN = '192.0.2.0/24'
const CONTROL_IP = '192.0.2.1'

export const CLIENT_IP = '192.0.2.20'
/** The client's second address, which source ranges exclude. */
export const OTHER_CLIENT_IP = '192.0.2.66'

/** Names of the pods; the node agent gives them namespaces and addresses. */
export const PODS: readonly string[] = ['pod-1', 'pod-2', 'pod-3']

/** The namespaces of a run, linked and addressed. */
export interface Topology {
  readonly control: Namespace
  readonly node: Namespace
  readonly client: Namespace
}

/** The namespace in which the sandbox itself runs; it exists before all others. */
export const CONTROL = 'control'

/**
 * Builds everything except `control`, which exists already, and the pods. Links are created inside the namespaces, so
 * that none ever appears in the machine's own namespace.
 */
export async function buildTopology(run: string): Promise<Topology> {
  const control = namespaceNamed(namespaceOf(run, CONTROL))
  const add = (role: string): Promise<Namespace> => addNamespace(namespaceOf(run, role))
  const [node, client] = await Promise.all([add('node'), add('client')])
  await Promise.all([control.set(HOST), client.set(HOST), node.set(ROUTER)])
  await buildLan(control, node, client)
  await Promise.all([node.ip(NODE_LINES), client.ip(CLIENT_LINES)])
  return { control, node, client }
}

/** Settings that new namespaces would otherwise inherit from the machine. */
const QUIET = {
  'net.ipv4.conf.all.rp_filter': 0,
  'net.ipv4.conf.default.rp_filter': 0,
  'net.ipv4.conf.all.send_redirects': 0,
  'net.ipv4.conf.default.send_redirects': 0,
  'net.ipv4.conf.all.accept_redirects': 0,
  'net.ipv4.conf.default.accept_redirects': 0,
}
const HOST = { ...QUIET, 'net.ipv4.ip_forward': 0 }
/** IP forwarding is enabled here, because that is the task of the network plugin, and not of the proxy. */
const ROUTER = { ...QUIET, 'net.ipv4.ip_forward': 1 }

async function buildLan(control: Namespace, node: Namespace, client: Namespace): Promise<void> {
  await control.ip([
    'link set lo up',
    'link add lan type bridge',
    `link add to-node type veth peer name eth0 netns ${node.name}`,
    `link add to-client type veth peer name eth0 netns ${client.name}`,
    'link set to-node master lan up',
    'link set to-client master lan up',
    'link set lan up',
    `addr add ${CONTROL_IP}/24 dev lan`,
  ])
}

const NODE_LINES = [
  'link set eth0 up',
  `addr add ${NODE_IP}/24 dev eth0`,
  `route add default via ${CONTROL_IP}`,
]

const CLIENT_LINES = [
  'link set eth0 up',
  `addr add ${CLIENT_IP}/24 dev eth0`,
  `addr add ${OTHER_CLIENT_IP}/24 dev eth0`,
  `route add ${LOAD_BALANCER_NETWORK} via ${NODE_IP}`,
  `route add ${SERVICE_NETWORK} via ${NODE_IP}`,
]
