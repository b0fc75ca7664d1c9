import { ipBytes, parseIp } from '../../lib/ip.ts'
import { createAffinityMemory } from '../affinity-memory.ts'
import { AffinityTable } from '../affinity-table.ts'

/** The bytes of an address. */
export function client(text: string): Uint8Array {
  const ip = parseIp(text)
  if (ip === undefined) throw new TypeError(`not an address: ${text}`)
  return ipBytes(ip)
}

/** The address 10.0.0.0 plus `n`. */
export function clientNumber(n: number): Uint8Array {
  return Uint8Array.of(10, (n >> 16) & 255, (n >> 8) & 255, n & 255)
}

/** A random source that always gives 1. */
export const NO_CHANCE = { below: () => 1 }

export function tableFor(capacity: number): AffinityTable {
  return new AffinityTable(createAffinityMemory(capacity, NO_CHANCE))
}
