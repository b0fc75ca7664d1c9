import { findAttribute } from '../../netlink/attribute.ts'
import type { TrafficCounters } from '../ipvs.ts'

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
