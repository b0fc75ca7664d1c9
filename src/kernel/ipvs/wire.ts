import { type Family, familyOf, formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { findAttribute } from '../netlink/attribute.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { type GenericRequest, genericRequest } from '../netlink/generic.ts'
import type { TrafficCounters } from './ipvs.ts'

/** linux/ip_vs.h: the generic netlink family of ip_vs. */
export const IPVS_FAMILY = 'IPVS'
const VERSION = 1

/** First level attributes of a command. */
export const CMD_ATTR = {
  service: 1,
  server: 2,
  timeoutTcp: 4,
  timeoutTcpFin: 5,
  timeoutUdp: 6,
} as const

/** The numbers of the commands in messages. */
export const COMMAND = {
  newService: 1,
  setService: 2,
  deleteService: 3,
  getService: 4,
  newServer: 5,
  setServer: 6,
  deleteServer: 7,
  getServer: 8,
  setConfig: 12,
  getConfig: 13,
  setInfo: 14,
  getInfo: 15,
  zero: 16,
  flush: 17,
} as const

/** A command with its attributes. */
export function ipvsRequest(
  command: keyof typeof COMMAND,
  write: (attributes: AttributeWriter) => void = () => undefined,
): GenericRequest {
  return genericRequest({ command: COMMAND[command], version: VERSION }, write)
}

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

/** linux/ip_vs.h: enum IPVS_STATS_ATTR_*; 64 bits each, the first three 32 in old kernels. */
const CONNECTIONS = 1
const IN_PACKETS = 2
const OUT_PACKETS = 3
const IN_BYTES = 4
const OUT_BYTES = 5

/** Reads the attribute for 64-bit statistics, or the older one; absent counters are 0. */
export function decodeCounters(statistics: Buffer = Buffer.alloc(0)): TrafficCounters {
  const count = (type: number) => decodeCount(findAttribute(statistics, type))
  return {
    connections: count(CONNECTIONS),
    incomingPackets: count(IN_PACKETS),
    outgoingPackets: count(OUT_PACKETS),
    incomingBytes: count(IN_BYTES),
    outgoingBytes: count(OUT_BYTES),
  }
}

function decodeCount(value: Buffer | undefined): number {
  if (value?.length === 4) return value.readUInt32LE()
  return value?.length === 8 ? Number(value.readBigUInt64LE()) : 0
}
