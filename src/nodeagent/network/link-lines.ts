import { type Cidr, familyOf, type IpAddress } from '../../lib/ip.ts'
import { gatewayOf } from './next-address.ts'
import { shortHash } from './short-hash.ts'

/** Sub-commands of `ip` that make the bridge, with the node's address in each network. */
export function bridgeLines({
  bridge,
  nodeName,
  podCIDRs,
}: {
  readonly bridge: string
  readonly nodeName: string
  readonly podCIDRs: readonly Cidr[]
}): readonly string[] {
  return [
    `link add ${bridge} address ${macOf(nodeName)} type bridge`,
    `link set ${bridge} up`,
    ...podCIDRs.map((cidr) => addressLine(gatewayOf(cidr), bridge)),
  ]
}

/**
 * The node's side of a Pod's link. Where bridged packets meet the node's rules,
 * a Pod that meets itself needs hairpin mode on its port.
 */
export function peerLines({
  peer,
  namespace,
  bridge,
  ips,
}: {
  readonly peer: string
  readonly namespace: string
  readonly bridge: string
  readonly ips: readonly IpAddress[]
}): readonly string[] {
  return [
    `link add ${peer} type veth peer name eth0 netns ${namespace}`,
    `link set ${peer} master ${bridge} up`,
    `link set ${peer} type bridge_slave hairpin on`,
    ...ips.map((ip) => `route replace ${bare(ip)} dev ${bridge}`),
  ]
}

/**
 * The Pod's side. Pods talk even to their neighbours through the node, so that
 * replies pass its connection tracking whether or not bridged packets meet its rules.
 */
export function podLines(ips: readonly IpAddress[], cidrs: readonly Cidr[]): readonly string[] {
  const gateways = cidrs.map(gatewayOf)
  return [
    'link set lo up',
    'link set eth0 up',
    ...ips.map((ip) => addressLine(ip, 'eth0')),
    ...gateways.flatMap((ip) => [
      `route add ${bare(ip)} dev eth0`,
      `route add ${familyOf(ip) === 6 ? '::/0' : '0.0.0.0/0'} via ${ip} dev eth0`,
    ]),
  ]
}

function bare(ip: IpAddress): string {
  return `${ip}/${familyOf(ip) === 6 ? 128 : 32}`
}

/** No other link can have the address, so duplicate address detection is off. */
function addressLine(ip: IpAddress, link: string): string {
  return `addr add ${bare(ip)} dev ${link}${familyOf(ip) === 6 ? ' nodad' : ''}`
}

/** Its own: one that a bridge takes from its ports changes with them, and Pods keep the old one. */
function macOf(nodeName: string): string {
  const pairs = shortHash(nodeName).match(/../g) ?? []
  return ['02', ...pairs].join(':')
}
