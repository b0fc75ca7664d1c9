import { NodeProxyError } from '../../lib/error.ts'
import { type Family, type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import { type IpRange, networkRange, rangeBetween } from '../../lib/ip-range.ts'

/** Addresses that may be handed out, from the first to the last of a range. */
export interface AddressPool {
  readonly family: Family
  contains(ip: IpAddress): boolean
  /** All of them, in ascending order. */
  addresses(): Iterable<IpAddress>
}

/**
 * Reads `192.0.2.0/24` or `192.0.2.10-192.0.2.20`, of either family. Of a network
 * the first address (and the last, of IPv4) is not handed out, of a range all are.
 * Throws NP_CONTROLLERS_POOL.
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
