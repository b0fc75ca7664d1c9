import { NodeProxyError } from '../lib/error.ts'
import { type Family, type IpAddress, parseCidr, parseIp } from '../lib/ip.ts'
import { type IpRange, networkRange, rangeBetween } from '../lib/ip-range.ts'

/** A range of addresses that may be assigned to Services. */
export interface AddressPool {
  readonly family: Family
  contains(ip: IpAddress): boolean
  /** All addresses of the pool, in ascending order, produced one by one. */
  addresses(): Iterable<IpAddress>
}

/**
 * Reads a network (`192.0.2.0/24`) or a range (`192.0.2.10-192.0.2.20`), of either family. The pool of a
 * range has all its addresses. That of a network has them without the first (in IPv6 the anycast address
 * of its routers: RFC 4291, 2.6.1) and in IPv4 without the last (broadcast). Throws NP_CONTROLLERS_POOL.
 */
export function parseAddressPool(text: string): AddressPool {
  const [from, to, ...rest] = text.split('-').map((part) => parseIp(part.trim()))
  const isRange = from !== undefined && to !== undefined && rest.length === 0
  const range = isRange ? rangeBetween(from, to) : hostsOf(text)
  if (range === undefined) throw badPool(text)
  return {
    family: range.family,
    contains: (ip) => range.indexOf(ip) !== undefined,
    *addresses() {
      for (let index = 0n; index < range.size; index++) yield range.at(index)
    },
  }
}

/** Whether an address belongs to one of the pools. */
export function isInPools(ip: IpAddress, pools: readonly AddressPool[]): boolean {
  return pools.some((pool) => pool.contains(ip))
}

/** A network of one or two addresses has no reserved ones (RFC 3021, RFC 6164). */
function hostsOf(text: string): IpRange | undefined {
  const cidr = parseCidr(text)
  if (cidr === undefined) return undefined
  const network = networkRange(cidr)
  if (network.size < 4n) return network
  return network.without(1n, network.family === 4 ? 1n : 0n)
}

function badPool(text: string): NodeProxyError {
  return new NodeProxyError(
    'NP_CONTROLLERS_POOL',
    `${JSON.stringify(text)} is not a pool of addresses`,
    { hint: 'give a network like 192.0.2.0/24 or a range like 192.0.2.10-192.0.2.20' },
  )
}
