import type { Protocol } from '../../forwarding/entry.ts'
import { type Cidr, familyOf, type IpAddress } from '../../lib/ip.ts'

/**
 * Pieces of rules in exactly the form and order in which `iptables-save` prints
 * them (source, destination, protocol, matches, target), so that what we render
 * and what the kernel holds compare as text.
 */
export function from(source: Cidr | undefined): string {
  return source === undefined || source.endsWith('/0') ? '' : `-s ${source} `
}

/** The negation of `from`; `source` must not have length 0, which the nft variant refuses. */
export function notFrom(source: Cidr): string {
  return `! -s ${source} `
}

/** One address, as a host network. */
export function to(ip: IpAddress): string {
  return `-d ${ip}/${familyOf(ip) === 4 ? 32 : 128} `
}

/** `-p tcp -m tcp --dport 80 ` */
export function dport(protocol: Protocol, port: number | string): string {
  const name = protocol.toLowerCase()
  return `-p ${name} -m ${name} --dport ${port} `
}
