import { type Family, familyOf, formatIp, type IpAddress, ipBytes } from '../../../lib/ip.ts'
import type { AttributeWriter } from '../../netlink/attribute-writer.ts'

/** union nf_inet_addr: an IPv4 address fills the first 4 of its 16 bytes. */
const ADDRESS = 16
const USED = { 4: 4, 6: 16 } as const
const ZERO = '0'.charCodeAt(0)

/** Writes an address as `union nf_inet_addr`, padded to 16 bytes. */
export function writeAddress(writer: AttributeWriter, type: number, ip: IpAddress): void {
  writer.bytes(type, familyOf(ip) === 4 ? quadBytes(ip) : ipBytes(ip), ADDRESS)
}

/** The address in a `union nf_inet_addr`; undefined when absent or too short. */
export function decodeAddress(value: Buffer | undefined, family: Family): IpAddress | undefined {
  const used = USED[family]
  if (value === undefined || value.length < used) return undefined
  return formatIp(value.subarray(0, used))
}

/** The bytes of an IPv4 address, without the checks of `ipBytes`: these would be half the cost of a message. */
function quadBytes(ip: IpAddress): Uint8Array {
  const bytes = new Uint8Array(USED[4])
  for (let at = 0, octet = 0; at < ip.length; at++) {
    const digit = ip.charCodeAt(at) - ZERO
    if (digit < 0) octet++
    else bytes[octet] = bytes[octet]! * 10 + digit
  }
  return bytes
}
