import {
  type Cidr,
  familyOf,
  formatIp,
  type IpAddress,
  ipBytes,
  networkAddress,
  prefixLength,
} from '../lib/ip.ts'
import type { AddressRange } from './policy-content.ts'

/** Addresses as numbers, both ends included. */
interface Numbers {
  readonly first: bigint
  readonly last: bigint
}

/** The addresses of a block that are in none of the exceptions, as ranges in ascending order that do not touch. */
export function blockRanges(cidr: Cidr, except: readonly Cidr[]): readonly AddressRange[] {
  const family = familyOf(cidr)
  const holes = except.filter((one) => familyOf(one) === family).map(numbersOf)
  const bits = family === 4 ? 32 : 128
  return holes
    .toSorted((a, b) => (a.first < b.first ? -1 : 1))
    .reduce(without, [numbersOf(cidr)])
    .map(({ first, last }) => ({ first: addressOf(first, bits), last: addressOf(last, bits) }))
}

/** Whether a range has an address; false across families. */
export function isInRange(ip: IpAddress, { first, last }: AddressRange): boolean {
  if (familyOf(ip) !== familyOf(first)) return false
  const bytes = ipBytes(ip)
  return Buffer.compare(ipBytes(first), bytes) <= 0 && Buffer.compare(bytes, ipBytes(last)) <= 0
}

/** Takes a hole, which begins behind those before it, out of the last range. */
function without(ranges: readonly Numbers[], hole: Numbers): readonly Numbers[] {
  const last = ranges.at(-1)
  if (last === undefined || hole.first > last.last || hole.last < last.first) return ranges
  const parts = [
    { first: last.first, last: hole.first - 1n },
    { first: hole.last + 1n, last: last.last },
  ]
  return [...ranges.slice(0, -1), ...parts.filter(({ first, last: end }) => first <= end)]
}

function numbersOf(cidr: Cidr): Numbers {
  const bytes = ipBytes(networkAddress(cidr))
  const first = bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n)
  return { first, last: first + (1n << BigInt(bytes.length * 8 - prefixLength(cidr))) - 1n }
}

function addressOf(number: bigint, bits: number) {
  const bytes = Array.from({ length: bits / 8 }, (_, index) =>
    Number((number >> BigInt(bits - 8 * (index + 1))) & 0xffn),
  )
  return formatIp(Uint8Array.from(bytes))
}
