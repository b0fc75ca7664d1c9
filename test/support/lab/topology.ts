import { loadModules } from './modules.ts'
import { LOOPBACK_UP } from './namespace.ts'
import { BRIDGE, BRIDGE_MAC, GATEWAY, hostNet, NODE_ADDRESSES, OUTSIDE, WORLD } from './plan.ts'
import { openEmptySite, type Site } from './site.ts'
import { writeSysctls } from './sysctl.ts'

/**
 * The fixed part of a lab.
 *
 *     pods ── cbr0 [ node ] eth0 ──┬── lan [ world ]   remote pods, sinks, API server
 *     (each its own namespace)     └── eth0 [ outside ] clients
 *
 * All routes between the three go through the node, in both directions, so that
 * its connection tracking sees every packet of a flow.
 */
export interface Topology {
  readonly node: Site
  readonly world: Site
  readonly outside: Site
}

export interface TopologyOptions {
  /** Whether bridged packets pass the node's iptables, as in most clusters. */
  readonly bridgeNetfilter: boolean
}

export async function buildTopology(prefix: string, options: TopologyOptions): Promise<Topology> {
  await loadModules()
  const [node, world, outside] = await Promise.all([
    openEmptySite(`${prefix}-node`),
    openEmptySite(`${prefix}-world`),
    openEmptySite(`${prefix}-outside`),
  ])
  await Promise.all([tuneNode(node, options), tuneHost(world), tuneHost(outside)])
  await linkWorld(world, { node, outside })
  await buildNode(node)
  await buildOutside(outside)
  await tuneUplinks(node, world)
  await worldAddresses(world)
  return { node, world, outside }
}

const QUIET = {
  'net/ipv6/conf/all/accept_dad': 0,
  'net/ipv6/conf/default/accept_dad': 0,
  'net/ipv4/conf/all/rp_filter': 0,
  'net/ipv4/conf/default/rp_filter': 0,
  'net/ipv4/conf/all/accept_redirects': 0,
  'net/ipv4/conf/default/accept_redirects': 0,
  'net/ipv6/conf/all/accept_redirects': 0,
  'net/ipv6/conf/default/accept_redirects': 0,
  'net/ipv4/ip_local_port_range': '10000 65000',
  'net/ipv4/icmp_ratelimit': 0,
  'net/ipv6/icmp/ratelimit': 0,
} as const

async function tuneNode({ agent }: Site, options: TopologyOptions): Promise<void> {
  const bridged = options.bridgeNetfilter ? 1 : 0
  await writeSysctls(agent, {
    ...QUIET,
    'net/ipv4/ip_forward': 1,
    'net/ipv6/conf/all/forwarding': 1,
    'net/ipv4/conf/all/send_redirects': 0,
    'net/ipv4/conf/default/send_redirects': 0,
    'net/bridge/bridge-nf-call-iptables': bridged,
    'net/bridge/bridge-nf-call-ip6tables': bridged,
  })
}

async function tuneHost({ agent }: Site): Promise<void> {
  await writeSysctls(agent, {
    ...QUIET,
    'net/bridge/bridge-nf-call-iptables': 0,
    'net/bridge/bridge-nf-call-ip6tables': 0,
    'net/ipv4/conf/all/arp_ignore': 1,
    'net/ipv6/ip_nonlocal_bind': 1,
  })
}

/** The links of the world, whose other ends are those of the two. */
async function linkWorld(
  { namespace }: Site,
  { node, outside }: { readonly node: Site; readonly outside: Site },
): Promise<void> {
  await namespace.ip([
    LOOPBACK_UP,
    'link add lan type bridge',
    `link add to-node type veth peer name eth0 netns ${node.namespace.name}`,
    `link add to-outside type veth peer name eth0 netns ${outside.namespace.name}`,
    'link set to-node master lan up',
    'link set to-outside master lan up',
    'link set lan up',
  ])
}

/** The addresses of the world, whose default routes lead back through the node. */
async function worldAddresses({ namespace }: Site): Promise<void> {
  await namespace.ip([
    `addr add ${WORLD.v4}/24 dev lan`,
    `addr add ${WORLD.v6}/64 dev lan nodad`,
    'route add default via 192.168.0.2',
    'route add default via 2001:db8::1',
  ])
}

async function buildNode({ namespace }: Site): Promise<void> {
  await namespace.ip([
    LOOPBACK_UP,
    'link set eth0 up',
    `link add ${BRIDGE} address ${BRIDGE_MAC} type bridge`,
    `link set ${BRIDGE} up`,
    ...NODE_ADDRESSES.map((address) => `addr add ${address} dev eth0 nodad`),
    `addr add ${hostNet(GATEWAY.v4)} dev ${BRIDGE}`,
    `addr add ${hostNet(GATEWAY.v6)} dev ${BRIDGE} nodad`,
    `route add default via ${WORLD.v4}`,
    `route add default via ${WORLD.v6}`,
    `route add ${hostNet(OUTSIDE.v4)} dev eth0`,
    `route add ${hostNet(OUTSIDE.v6)} dev eth0`,
  ])
}

async function tuneUplinks(node: Site, world: Site): Promise<void> {
  await writeSysctls(world.agent, { 'net/ipv4/conf/lan/rp_filter': 0 })
  await writeSysctls(node.agent, { 'net/ipv4/conf/eth0/send_redirects': 0 })
}

async function buildOutside({ namespace }: Site): Promise<void> {
  await namespace.ip([
    LOOPBACK_UP,
    'link set eth0 up',
    `addr add ${hostNet(OUTSIDE.v4)} dev eth0`,
    `addr add ${hostNet(OUTSIDE.v6)} dev eth0 nodad`,
    'route add default via 192.168.0.2 dev eth0 onlink',
    'route add 2001:db8::1/128 dev eth0',
    'route add default via 2001:db8::1 dev eth0',
  ])
}
