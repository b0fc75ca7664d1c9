import { type Json, stringAt } from '../../lib/json.ts'
import { canonicalAddress } from '../../lib/legacy-address.ts'
import type { StoredEntry } from '../../storage/store.ts'

/** The prefix under which allocations are stored: one key for each address, and one for each port and protocol. */
export const ALLOCATIONS = 'allocations'

/** The key of an address; two notations of one address (`010.0.0.1`, `10.0.0.1`) have the same key. */
export function addressKey(ip: string): string {
  return `/${ALLOCATIONS}/addresses/${canonicalAddress(ip)}`
}

export function nodePortKey(protocol: string, port: number): string {
  return `/${ALLOCATIONS}/nodeports/${protocol}/${port}`
}

/** The value that is stored under the key of an allocation. */
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

/** The address or node port (such as `30080/TCP`) that a key stands for. */
export function describeKey(key: string): {
  readonly kind: 'address' | 'port'
  readonly text: string
} {
  const [kind, first = '', second = ''] = key.split('/').slice(2)
  return kind === 'addresses'
    ? { kind: 'address', text: first }
    : { kind: 'port', text: `${second}/${first}` }
}
