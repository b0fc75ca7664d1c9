import { type Cidr, type Family, familyOf, formatIp, type IpAddress, ipBytes } from './ip.ts'

/** Consecutive addresses of one family, counted in bigint because IPv6 has so many. */
export interface IpRange {
  readonly family: Family
  readonly size: bigint
  /** The address at `index`, from 0. */
  at(index: bigint): IpAddress
  /** The index of an address; undefined when it is not in the range. */
  indexOf(ip: IpAddress): bigint | undefined
  /** The range without `head` addresses at its start and `tail` at its end; empty when it has no more. */
  without(head: bigint, tail: bigint): IpRange
}

/** All addresses of a network, with the first and the last (in IPv4 network and broadcast address). */
export function networkRange(cidr: Cidr): IpRange {
  const slash = cidr.indexOf('/')
  const family = familyOf(cidr)
  const hostBits = widthOf(family) - Number(cidr.slice(slash + 1))
  return rangeOf(family, numberOf(cidr.slice(0, slash) as IpAddress), 1n << BigInt(hostBits))
}

/** From one address to another, both included; undefined if they are not in this order. */
export function rangeBetween(first: IpAddress, last: IpAddress): IpRange | undefined {
  const family = familyOf(first)
  const size = numberOf(last) - numberOf(first) + 1n
  return familyOf(last) === family && size > 0n ? rangeOf(family, numberOf(first), size) : undefined
}

function rangeOf(family: Family, first: bigint, size: bigint): IpRange {
  return {
    family,
    size,
    at: (index) => addressOf(first + index, family),
    indexOf(ip) {
      const index = numberOf(ip) - first
      return familyOf(ip) === family && index >= 0n && index < size ? index : undefined
    },
    without(head, tail) {
      const rest = size - head - tail
      return rangeOf(family, first + head, rest > 0n ? rest : 0n)
    },
  }
}

function numberOf(ip: IpAddress): bigint {
  return BigInt(`0x${ipBytes(ip).toHex()}`)
}

function addressOf(number: bigint, family: Family): IpAddress {
  return formatIp(Uint8Array.fromHex(number.toString(16).padStart(widthOf(family) / 4, '0')))
}

/** Bits of an address. */
function widthOf(family: Family): number {
  return family === 4 ? 32 : 128
}
