import type { IpAddress } from './ip.ts'

const SPECIAL_V4 = /^(?:0|127|22[4-9]|23\d)\.|^169\.254\.|^255\.255\.255\.255$/
const SPECIAL_V6 = /^(?:::1?$|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:|::ffff:[0-9a-f]+:[0-9a-f]+$)/

/**
 * Whether an address names no host of a network: unspecified (0.0.0.0/8, ::),
 * loopback, link-local, multicast, broadcast, or an IPv4-mapped IPv6 address,
 * which never stands in a packet. Such an address is never captured and never a
 * backend: it would expose what the node offers to itself alone (CVE-2020-8558,
 * CVE-2021-25737). Works on canonical text, as every IpAddress is.
 */
export function isSpecialAddress(ip: IpAddress): boolean {
  return ip.includes(':') ? SPECIAL_V6.test(ip) : SPECIAL_V4.test(ip)
}
