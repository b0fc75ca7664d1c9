import { type Json, stringAt } from '../../lib/json.ts'
import { canonicalAddress } from '../../lib/legacy-address.ts'
import type { StoredEntry } from '../../storage/store.ts'

/** Where allocations are stored; one key per address, and per port and protocol. */
export const ALLOCATIONS = 'allocations'

/** Two texts of one address (`010.0.0.1`, `10.0.0.1`) are one allocation. */
export function addressKey(ip: string): string {
  return `/${ALLOCATIONS}/addresses/${canonicalAddress(ip)}`
}

export function nodePortKey(protocol: string, port: number): string {
  return `/${ALLOCATIONS}/nodeports/${protocol}/${port}`
}

/** What is stored under the key of an allocation. */
export function allocationFor(owner: string): Buffer {
  return Buffer.from(JSON.stringify({ owner }))
}

/** Storage key of the Service that an allocation was made for; empty when it cannot be read. */
export function allocationOwner({
  value,
  damaged,
}: Pick<StoredEntry, 'value' | 'damaged'>): string {
  if (damaged === true) return ''
  try {
    return stringAt(JSON.parse(value.toString()) as Json, 'owner')
  } catch {
    return ''
  }
}

/** What a key stands for: an address, or a node port such as `30080/TCP`. */
export function describeKey(key: string): {
  readonly kind: 'address' | 'port'
  readonly text: string
} {
  const [kind, first = '', second = ''] = key.split('/').slice(2)
  return kind === 'addresses'
    ? { kind: 'address', text: first }
    : { kind: 'port', text: `${second}/${first}` }
}
