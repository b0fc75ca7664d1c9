import {
  addNamespace,
  ipBatch,
  namespaceName,
  removeNamespace,
  writeSysctls,
} from '../lab/namespace.ts'
import { BACKENDS, CLIENT } from '../lab/plan.ts'
import { link } from '../lab/topology.ts'

/**
 * The path from client to backend of one subject, in namespaces of its own, so without rules, tracked connections and
 * ports in TIME_WAIT of others.
 *
 *     client ── [ node: the proxy ] ── backends      veth, routed
 */
export interface Path {
  readonly client: string
  readonly node: string
  readonly backends: string
  remove(): void
}

/** Many short connections need many ports, which must soon be free again. */
const BUSY = {
  'net/ipv4/ip_local_port_range': '10000 65000',
  'net/ipv4/tcp_tw_reuse': 1,
  'net/ipv4/conf/all/rp_filter': 0,
  'net/ipv4/conf/default/rp_filter': 0,
} as const

export function buildPath(role: string): Path {
  const names = ['c', 'n', 'b'].map((end) => namespaceName(`${role}-${end}`))
  const [client, node, backends] = names as [string, string, string]
  for (const name of names) {
    addNamespace(name)
    writeSysctls(name, BUSY)
  }
  link(node, 'client', client, [CLIENT.node, CLIENT.host])
  link(node, 'backends', backends, [BACKENDS.node, BACKENDS.host])
  writeSysctls(node, { 'net/ipv4/ip_forward': 1 })
  ipBatch(client, [`route add default via ${CLIENT.node}`])
  ipBatch(backends, [`route add default via ${BACKENDS.node}`])
  return { client, node, backends, remove: () => names.forEach(removeNamespace) }
}
