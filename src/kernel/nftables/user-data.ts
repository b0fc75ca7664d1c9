import { align } from '../netlink/message.ts'
import type { FieldType, SetSpec } from './objects.ts'

/**
 * For each field type, the number of the data type by which nft prints keys (enum datatypes of nft's datatype.h; the
 * kernel only stores it), and the bytes of a value without padding.
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

/*
 * User data: a list that the kernel stores for `nft` without reading it (libnftnl's udata.h). Each item has a type and
 * a length, of one byte each, and a value. Items are comments, and the expressions by which a set was declared
 * (`typeof`).
 */

/** Types of items in the user data of a rule and of an element. */
const RULE_COMMENT = 0
const ELEMENT_COMMENT = 0
/** Types of items in the user data of a set. */
const SET = { keyByteOrder: 0, dataByteOrder: 1, keyTypeof: 3, dataTypeof: 4, comment: 7 } as const
/** Types of the items inside `keyTypeof` and `dataTypeof`. */
const TYPEOF = { expression: 0, data: 1 } as const

/** enum byteorder of nft. */
const HOST_ORDER = 1
const NETWORK_ORDER = 2

/** enum expr_types of nft. */
const KIND = { payload: 7, meta: 9, concatenation: 13, numgen: 23 } as const

/** enum proto_desc_id of nft. */
const HEADER = { transport: 11, ip: 12, ip6: 13 } as const
/** For each of these headers, nft's number of the field with the destination address or port. */
const DESTINATION = { transport: 2, ip: 12, ip6: 9 } as const
/** NFT_META_L4PROTO of linux/netfilter/nf_tables.h. */
const META_L4PROTO = 16
/** `numgen inc mod 2` declares an index. Its modulus and its type (0: `inc`) have no meaning. */
const ANY_MODULUS = 2

/** The user data of a rule with this comment. @throws TypeError when the comment is longer than 127 bytes */
export function ruleUserData(comment: string): Buffer {
  return text(RULE_COMMENT, comment)
}

/** The user data of an element with this comment. @throws TypeError when the comment is longer than 127 bytes */
export function elementUserData(comment: string): Buffer {
  return text(ELEMENT_COMMENT, comment)
}

/** The comment in the user data of a rule or element; undefined if there is none. */
export function commentOf(userData: Buffer | undefined, type = RULE_COMMENT): string | undefined {
  const value = userData && find(userData, type)
  if (value === undefined) return undefined
  const end = value.indexOf(0)
  return value.toString('latin1', 0, end < 0 ? value.length : end)
}

/** The comment in the user data of a set; undefined if there is none. */
export function setComment(userData: Buffer | undefined): string | undefined {
  return commentOf(userData, SET.comment)
}

/**
 * The user data of a set. A field of type `index` has no data type with a name, so a set with such a field is declared
 * by expressions (`typeof`).
 * @throws TypeError when the comment is longer than 127 bytes, or no expression declares a field
 */
export function setUserData({ key, data, comment }: SetSpec): Buffer {
  const fields = data === undefined || data === 'verdict' ? undefined : data
  const parts = [
    word(SET.keyByteOrder, isHostOrder(key) ? HOST_ORDER : key.length > 1 ? 0 : NETWORK_ORDER),
  ]
  if (data !== undefined) parts.push(word(SET.dataByteOrder, 0))
  if (key.includes('index')) {
    parts.push(nested(SET.keyTypeof, ...declaration(key)))
    if (fields) parts.push(nested(SET.dataTypeof, ...declaration(fields)))
  }
  if (comment !== undefined) parts.push(text(SET.comment, comment))
  return Buffer.concat(parts)
}

/** The items that declare a key or data by expressions. */
function declaration(fields: readonly FieldType[]): readonly Buffer[] {
  const [only] = fields
  if (fields.length === 1 && only) return expression(only)
  return [
    word(TYPEOF.expression, KIND.concatenation),
    nested(TYPEOF.data, ...fields.map((field, index) => nested(index, ...expression(field)))),
  ]
}

/** The items of the expression that loads a field of this type. */
function expression(field: FieldType): readonly Buffer[] {
  switch (field) {
    case 'ipv4_addr':
      return payload('ip')
    case 'ipv6_addr':
      return payload('ip6')
    case 'inet_service':
      return payload('transport')
    case 'index':
      return [
        word(TYPEOF.expression, KIND.numgen),
        nested(TYPEOF.data, word(0, 0), word(1, ANY_MODULUS), word(2, 0)),
      ]
    case 'inet_proto':
      return [word(TYPEOF.expression, KIND.meta), nested(TYPEOF.data, word(0, META_L4PROTO))]
    case 'ifname':
    case 'mark':
      throw new TypeError(`no expression declares a field of type ${field}`)
  }
}

/** The items of the expression that loads the destination address or port from a header. */
function payload(header: keyof typeof HEADER): readonly Buffer[] {
  return [
    word(TYPEOF.expression, KIND.payload),
    nested(TYPEOF.data, word(0, HEADER[header]), word(1, DESTINATION[header])),
  ]
}

/** An item whose value is a number of 32 bits in little-endian order. */
function word(type: number, value: number): Buffer {
  const bytes = Buffer.from([type, 4, 0, 0, 0, 0])
  bytes.writeUInt32LE(value, 2)
  return bytes
}

function nested(type: number, ...inner: readonly Buffer[]): Buffer {
  const value = Buffer.concat(inner)
  return Buffer.concat([Buffer.from([type, value.length]), value])
}

/** The most bytes of a comment, without its final NUL. */
const MAX_COMMENT = 127

function text(type: number, value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length > MAX_COMMENT) {
    throw new TypeError(`a comment of ${bytes.length} bytes: at most ${MAX_COMMENT} are possible`)
  }
  return nested(type, bytes, Buffer.from([0]))
}

/** The value of the first item of this type. */
function find(bytes: Buffer, wanted: number): Buffer | undefined {
  for (let at = 0; at + 2 <= bytes.length; ) {
    const [type = 0, length = 0] = bytes.subarray(at, at + 2)
    const end = at + 2 + length
    if (end > bytes.length) return undefined
    if (type === wanted) return bytes.subarray(at + 2, end)
    at = end
  }
  return undefined
}

/** Each type of a concatenation takes six bits. */
const TYPE_BITS = 6

/**
 * The number by which the kernel stores the types of a key or of data: six bits for each field, the first one highest.
 */
export function typeNumber(fields: readonly FieldType[]): number {
  return fields.reduce((number, field) => (number << TYPE_BITS) | TYPES[field].number, 0) >>> 0
}

const BY_NUMBER = new Map(
  Object.entries(TYPES).map(([type, { number }]) => [number, type as FieldType]),
)

/** The inverse of `typeNumber`; a type that this code does not write is left out. */
export function typesOfNumber(number: number): readonly FieldType[] {
  const types: FieldType[] = []
  for (let rest = number; rest > 0; rest >>>= TYPE_BITS) {
    const type = BY_NUMBER.get(rest & ((1 << TYPE_BITS) - 1))
    if (type !== undefined) types.unshift(type)
  }
  return types
}

/** The bytes of a value without padding. */
export function fieldBytes(field: FieldType): number {
  return TYPES[field].bytes
}

/**
 * The bytes of a key or of data in the kernel. A single field is not padded; several are each padded to a multiple of
 * 4.
 */
export function lengthOf(fields: readonly FieldType[]): number {
  if (fields.length === 1) return fieldBytes(fields[0]!)
  return fields.reduce((sum, field) => sum + align(fieldBytes(field)), 0)
}

/** Whether the key is a number in the host's byte order, which `nft` must know to print it. */
function isHostOrder(fields: readonly FieldType[]): boolean {
  return fields.length === 1 && (fields[0] === 'mark' || fields[0] === 'index')
}
