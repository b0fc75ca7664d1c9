import {
  type Cidr,
  cidrContains,
  type Family,
  familyOf,
  formatIp,
  type IpAddress,
  ipBytes,
  networkAddress,
  prefixLength,
} from './ip.ts'

/** Consecutive addresses of one family, counted in bigint because IPv6 has so many. */
export interface IpRange {
  readonly family: Family
  readonly size: bigint
  /** The address at `index`, from 0. */
  at(index: bigint): IpAddress
  /** The index of an address; undefined if it is not in the range. */
  indexOf(ip: IpAddress): bigint | undefined
  /**
   * The range without `head` addresses at its start and `tail` at its end; empty if it has no more addresses than
   * these.
   */
  without(head: bigint, tail: bigint): IpRange
}

/** All addresses of a network, with the first and the last (in IPv4 network and broadcast address). */
export function networkRange(cidr: Cidr): IpRange {
  const slash = cidr.indexOf('/')
  const family = familyOf(cidr)
  const hostBits = widthOf(family) - Number(cidr.slice(slash + 1))
  return rangeOf(family, addressNumber(cidr.slice(0, slash) as IpAddress), 1n << BigInt(hostBits))
}

/** The range from one address to another, inclusive; undefined if they are not in this order. */
export function rangeBetween(first: IpAddress, last: IpAddress): IpRange | undefined {
  const family = familyOf(first)
  const size = addressNumber(last) - addressNumber(first) + 1n
  return familyOf(last) === family && size > 0n
    ? rangeOf(family, addressNumber(first), size)
    : undefined
}

/**
 * The addresses of `networks` that are not in any of `excluded`, as networks that do not overlap, in the order of
 * `networks`. A network that contains a smaller excluded one is divided.
 */
export function networkDifference(
  networks: readonly Cidr[],
  excluded: readonly Cidr[],
): readonly Cidr[] {
  return networks
    .filter((one, index) => {
      const others = networks.filter((other, at) => at < index || (at > index && other !== one))
      return !others.some((other) => isWithin(other, one))
    })
    .flatMap((one) => remainder(one, excluded))
}

/** Whether all addresses of `inner` are in `outer`. */
export function isWithin(outer: Cidr, inner: Cidr): boolean {
  return prefixLength(outer) <= prefixLength(inner) && cidrContains(outer, networkAddress(inner))
}

function remainder(network: Cidr, excluded: readonly Cidr[]): readonly Cidr[] {
  if (excluded.some((one) => isWithin(one, network))) return []
  const inside = excluded.filter((one) => isWithin(network, one))
  return inside.length === 0
    ? [network]
    : halves(network).flatMap((half) => remainder(half, inside))
}

function halves(network: Cidr): readonly Cidr[] {
  const range = networkRange(network)
  const prefix = prefixLength(network) + 1
  return [0n, range.size / 2n].map((index) => `${range.at(index)}/${prefix}` as Cidr)
}

function rangeOf(family: Family, first: bigint, size: bigint): IpRange {
  return {
    family,
    size,
    at: (index) => addressOf(first + index, family),
    indexOf(ip) {
      const index = addressNumber(ip) - first
      return familyOf(ip) === family && index >= 0n && index < size ? index : undefined
    },
    without(head, tail) {
      const rest = size - head - tail
      return rangeOf(family, first + head, rest > 0n ? rest : 0n)
    },
  }
}

/** An address as an unsigned number of 32 or 128 bits. */
export function addressNumber(ip: IpAddress): bigint {
  return BigInt(`0x${ipBytes(ip).toHex()}`)
}

function addressOf(number: bigint, family: Family): IpAddress {
  return formatIp(Uint8Array.fromHex(number.toString(16).padStart(widthOf(family) / 4, '0')))
}

/** The number of bits of an address. */
function widthOf(family: Family): number {
  return family === 4 ? 32 : 128
}
