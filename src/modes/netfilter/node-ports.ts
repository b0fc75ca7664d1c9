import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { NetfilterSettings } from './settings.ts'

const LOCAL = '-m addrtype --dst-type LOCAL '

/**
 * The end of a dispatch chain: packets to this node's addresses, or to those in
 * `nodePortAddresses`, go on to `chain`. The kernel decides what is local, so an
 * address that comes or goes needs no new rule. Loopback serves only when asked
 * for, and IPv6 never (the kernel has no route_localnet for ::1).
 */
export function toNodePorts(
  settings: NetfilterSettings,
  family: Family,
  chain: string,
): readonly string[] {
  const loopback = family === 4 ? '-d 127.0.0.0/8 ' : '-d ::1/128 '
  const serveLoopback = family === 4 && settings.localhostNodePorts
  return [
    ...(serveLoopback ? [] : [`${loopback}-j RETURN`]),
    ...servingAddresses(settings, family).map((match) => `${match}${LOCAL}-j ${chain}`),
  ]
}

function servingAddresses(settings: NetfilterSettings, family: Family): readonly string[] {
  if (settings.nodePortAddresses.length === 0) return ['']
  return settings.nodePortAddresses
    .filter((address) => familyOf(address) === family)
    .map(destination)
}

function destination(address: Cidr | IpAddress): string {
  if (address.endsWith('/0')) return ''
  if (address.includes('/')) return `-d ${address} `
  return `-d ${address}/${familyOf(address) === 4 ? 32 : 128} `
}
