import { namespaceOf } from '../run/run.ts'
import { addNamespace, type Namespace, namespaceNamed } from './namespace.ts'
import {
  CLIENT_IP,
  CONTROL_IP,
  LOAD_BALANCER_NETWORK,
  NODE_IP,
  SERVICE_NETWORK,
  STRANGER_IP,
} from './plan.ts'

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
  const add = (place: string): Promise<Namespace> => addNamespace(namespaceOf(run, place))
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
  `addr add ${STRANGER_IP}/24 dev eth0`,
  `route add ${LOAD_BALANCER_NETWORK} via ${NODE_IP}`,
  `route add ${SERVICE_NETWORK} via ${NODE_IP}`,
]
