import {
  addNamespace,
  enter,
  ipBatch,
  namespaceName,
  removeNamespace,
  writeSysctls,
} from './namespace.ts'
import { BACKENDS, CLIENT, CONTROL, ENDPOINT_NET, PROBE_NET } from './plan.ts'

/**
 * One node under test and its two neighbours, new for every start of the daemon.
 *
 *     client ── [ node ] ── backends       the data path: veth, routed, tracked
 *                  └── control             the API server, and this process
 */
export interface Topology {
  readonly node: string
  readonly client: string
  readonly backends: string
  remove(): void
}

const QUIET = {
  'net/ipv4/conf/all/rp_filter': 0,
  'net/ipv4/conf/default/rp_filter': 0,
  'net/ipv4/icmp_ratelimit': 0,
  'net/ipv6/conf/all/accept_dad': 0,
  'net/ipv6/conf/default/accept_dad': 0,
} as const

/** Short timeouts: probes leave half-open connections, which end after a second, before they fill the table. */
const FORGETFUL = {
  'net/ipv4/ip_forward': 1,
  'net/netfilter/nf_conntrack_tcp_timeout_syn_sent': 1,
  'net/netfilter/nf_conntrack_tcp_timeout_close': 1,
} as const

/** Creates the namespace of the API server and moves this process there. */
export function enterControl(): void {
  const control = namespaceName('control')
  addNamespace(control)
  ipBatch(control, [`addr add ${CONTROL.server}/32 dev lo`])
  enter(control)
}

export function buildTopology(serial: number): Topology {
  const [node, client, backends] = ['node', 'client', 'backends'].map((role) =>
    namespaceName(`${role}${serial}`),
  ) as [string, string, string]
  for (const name of [node, client, backends]) addNamespace(name)
  for (const name of [node, client, backends]) writeSysctls(name, QUIET)
  link(node, 'control', namespaceName('control'), [CONTROL.node, CONTROL.server])
  link(node, 'client', client, [CLIENT.node, CLIENT.host])
  link(node, 'backends', backends, [BACKENDS.node, BACKENDS.host])
  writeSysctls(node, FORGETFUL)
  ipBatch(node, [`route add ${ENDPOINT_NET} via ${BACKENDS.host}`])
  ipBatch(client, [`route add default via ${CLIENT.node}`])
  ipBatch(backends, [
    `route add default via ${BACKENDS.node}`,
    `route add local ${ENDPOINT_NET} dev lo`,
    `route add blackhole ${PROBE_NET}`,
  ])
  return {
    node,
    client,
    backends,
    remove() {
      ipBatch(node, ['link del control'])
      for (const name of [node, client, backends]) removeNamespace(name)
    },
  }
}

export function link(
  node: string,
  device: string,
  peer: string,
  [near, far]: [string, string],
): void {
  ipBatch(node, [
    `link add ${device} type veth peer name eth0 netns ${peer}`,
    `addr add ${near}/30 dev ${device}`,
    `link set ${device} up`,
  ])
  ipBatch(peer, [`addr add ${far}/30 dev eth0`, 'link set eth0 up'])
}
