import { NodeProxyError } from '../../lib/error.ts'
import type { Family, IpAddress } from '../../lib/ip.ts'
import { familyOf, formatIp, ipBytes, parseCidr, parseIp } from '../../lib/ip.ts'

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
  const bounds =
    from !== undefined && to !== undefined && rest.length === 0
      ? rangeBounds(from, to)
      : networkBounds(text)
  if (bounds === undefined || bounds.first > bounds.last) throw badPool(text)
  const { family, first, last } = bounds
  return {
    family,
    contains: (ip) => familyOf(ip) === family && isBetween(numberOf(ip), bounds),
    *addresses() {
      for (let at = first; at <= last; at++) yield addressOf(at, family)
    },
  }
}

interface Bounds {
  readonly family: Family
  readonly first: bigint
  readonly last: bigint
}

function rangeBounds(from: IpAddress, to: IpAddress): Bounds | undefined {
  const family = familyOf(from)
  if (family !== familyOf(to)) return undefined
  return { family, first: numberOf(from), last: numberOf(to) }
}

function networkBounds(text: string): Bounds | undefined {
  const cidr = parseCidr(text)
  const [network, prefix] = cidr?.split('/') ?? []
  if (cidr === undefined || network === undefined) return undefined
  const family = familyOf(cidr)
  const hostBits = widthOf(family) - Number(prefix)
  const first = numberOf(network as IpAddress)
  const last = first + (1n << BigInt(hostBits)) - 1n
  if (hostBits < 2) return { family, first, last }
  return { family, first: first + 1n, last: family === 4 ? last - 1n : last }
}

function isBetween(value: bigint, { first, last }: Bounds): boolean {
  return first <= value && value <= last
}

function numberOf(ip: IpAddress): bigint {
  return BigInt(`0x${ipBytes(ip).toHex()}`)
}

function addressOf(value: bigint, family: Family): IpAddress {
  return formatIp(Uint8Array.fromHex(value.toString(16).padStart(widthOf(family) / 4, '0')))
}

function widthOf(family: Family): number {
  return family === 4 ? 32 : 128
}

function badPool(text: string): NodeProxyError {
  return new NodeProxyError(
    'NP_CONTROLLERS_POOL',
    `${JSON.stringify(text)} is not a pool of addresses`,
    { hint: 'give a network like 192.0.2.0/24 or a range like 192.0.2.10-192.0.2.20' },
  )
}
