import { type Cidr, cidrContains, type IpAddress, networkAddress, parseCidr } from './ip.ts'

const SPECIAL_V4 = /^(?:0|127|22[4-9]|23\d)\.|^169\.254\.|^255\.255\.255\.255$/
const SPECIAL_V6 = /^(?:::1?$|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:|::ffff:[0-9a-f]+:[0-9a-f]+$)/

/** The special addresses as networks. */
export const SPECIAL_NETWORKS: readonly Cidr[] = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::1/128',
  '::ffff:0:0/96',
  'fe80::/10',
  'ff00::/8',
].flatMap((text) => parseCidr(text) ?? [])

/** The first special network that shares an address with this one. */
export function specialNetworkIn(cidr: Cidr): Cidr | undefined {
  return SPECIAL_NETWORKS.find((special) => overlaps(special, cidr))
}

/** Whether two networks share an address, which means that one contains the other. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  return cidrContains(one, networkAddress(other)) || cidrContains(other, networkAddress(one))
}

/**
 * Whether an address does not name a host of a network: unspecified (0.0.0.0/8, ::), loopback, link-local, multicast,
 * broadcast, or an IPv4-mapped IPv6 address, which no packet carries. Such an address is never captured and never a
 * backend: it would expose services that listen only for the node itself (CVE-2020-8558, CVE-2021-25737). `ip` is
 * canonical text, as every IpAddress.
 */
export function isSpecialAddress(ip: IpAddress): boolean {
  return ip.includes(':') ? SPECIAL_V6.test(ip) : SPECIAL_V4.test(ip)
}
