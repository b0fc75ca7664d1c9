import type { FieldType } from '../objects.ts'

/**
 * The numbers of data types by which nft prints keys (enum datatypes of nft's datatype.h; the kernel only keeps
 * them), and the bytes of a value without padding.
 */
const TYPES: Readonly<Record<FieldType, { readonly number: number; readonly bytes: number }>> = {
  ipv4_addr: { number: 7, bytes: 4 },
  ipv6_addr: { number: 8, bytes: 16 },
  inet_proto: { number: 12, bytes: 1 },
  inet_service: { number: 13, bytes: 2 },
  mark: { number: 19, bytes: 4 },
  ifname: { number: 41, bytes: 16 },
  index: { number: 4, bytes: 4 },
}

const BY_NUMBER = new Map(
  Object.entries(TYPES).map(([type, { number }]) => [number, type as FieldType]),
)

/** Each type of a concatenation takes six bits. */
const TYPE_BITS = 6

export function typeNumber(fields: readonly FieldType[]): number {
  return fields.reduce((number, field) => (number << TYPE_BITS) | TYPES[field].number, 0) >>> 0
}

/** The inverse of `typeNumber`; a type that this code does not write is left out. */
export function typesOfNumber(number: number): readonly FieldType[] {
  const types: FieldType[] = []
  for (let rest = number; rest > 0; rest >>>= TYPE_BITS) {
    const type = BY_NUMBER.get(rest & ((1 << TYPE_BITS) - 1))
    if (type !== undefined) types.unshift(type)
  }
  return types
}

/** Bytes of a value without padding: what the kernel has as the length of a field. */
export function fieldBytes(field: FieldType): number {
  return TYPES[field].bytes
}

/** Bytes of a key or of data: a single field as it is, several each padded to 4. */
export function lengthOf(fields: readonly FieldType[]): number {
  if (fields.length === 1) return fieldBytes(fields[0]!)
  return fields.reduce((sum, field) => sum + ((fieldBytes(field) + 3) & ~3), 0)
}

/** Whether values are numbers in the host's byte order, which `nft` must know to print them. */
export function isHostOrder(fields: readonly FieldType[]): boolean {
  return fields.length === 1 && (fields[0] === 'mark' || fields[0] === 'index')
}
