import { namespaceOf } from '../run/run.ts'
import { addNamespace, type Namespace, namespaceNamed } from './namespace.ts'

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
const LOAD_BALANCER_NETWORK = '198.51.100.0/24'
export const LOAD_BALANCER_POOL = '198.51.100.10-198.51.100.19'

/** Of node and client. */
export const LAN = '192.0.2.0/24'
const CONTROL_IP = '192.0.2.1'

export const CLIENT_IP = '192.0.2.20'
/** The client's second address, which source ranges keep out. */
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
 * Builds everything around `control`, which exists, but the pods. Links are made inside the
 * namespaces, so that the machine's own never sees one.
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

/** New namespaces take these over from the machine, whatever it has. */
const QUIET = {
  'net.ipv4.conf.all.rp_filter': 0,
  'net.ipv4.conf.default.rp_filter': 0,
  'net.ipv4.conf.all.send_redirects': 0,
  'net.ipv4.conf.default.send_redirects': 0,
  'net.ipv4.conf.all.accept_redirects': 0,
  'net.ipv4.conf.default.accept_redirects': 0,
}
const HOST = { ...QUIET, 'net.ipv4.ip_forward': 0 }
/** Forwarding is the network plugin's business, not the proxy's. */
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
