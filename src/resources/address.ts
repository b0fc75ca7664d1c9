import { type Cidr, type IpAddress, parseCidr, parseIp } from '../lib/ip.ts'
import { isSpecialAddress } from '../lib/special-address.ts'
import { present } from './present.ts'
import type { Reader } from './reader.ts'

const LEFT_OUT = 'it is left out'

/** Any address in canonical form; undefined for everything else. */
export function anyAddress(value: unknown): IpAddress | undefined {
  return typeof value === 'string' ? parseIp(value) : undefined
}

/** An address that packets of a network may carry; undefined for everything else. */
export function hostAddress(value: unknown): IpAddress | undefined {
  const ip = anyAddress(value)
  return ip === undefined || isSpecialAddress(ip) ? undefined : ip
}

/** What to say of a value that `anyAddress` or `hostAddress` refused. */
export function addressFault(value: unknown): string {
  return anyAddress(value) !== undefined
    ? 'must not be unspecified, loopback, link-local, multicast, broadcast or IPv4-mapped; use the address of a network'
    : 'must be an IP address such as 10.0.0.1 or fd00::1, without leading zeros, zone or blanks'
}

/** The host addresses of a list, each once; everything else is left out. */
export function readHostAddresses(object: Reader, key: string): readonly IpAddress[] {
  const addresses = new Set<IpAddress>()
  for (const [index, value] of object.list(key).entries()) {
    const ip = hostAddress(value)
    if (ip === undefined) object.refuseItem(key, index, addressFault(value), LEFT_OUT)
    else addresses.add(ip)
  }
  return present(addresses)
}

/** The networks of a list, each once, blanks around them allowed; everything else is left out. */
export function readCidrs(object: Reader, key: string): readonly Cidr[] {
  const cidrs = new Set<Cidr>()
  for (const [index, value] of object.list(key).entries()) {
    const cidr = typeof value === 'string' ? parseCidr(value.trim()) : undefined
    if (cidr === undefined) object.refuseItem(key, index, CIDR_FAULT, LEFT_OUT)
    else cidrs.add(cidr)
  }
  return present(cidrs)
}

export const CIDR_FAULT =
  'must be a network such as 10.0.0.0/8 or fd00::/64, without leading zeros or zone'
