import { familyOf, type IpAddress, parseIp } from '../../../lib/ip.ts'
import { addressNumber } from '../../../lib/ip-range.ts'
import { isList, isObject, type Json, onlyMember, textOf } from './json.ts'

/** The meaning of a value, which determines how a literal compared with it is read. */
export type Kind = 'address' | 'protocol' | 'number' | 'flags' | 'text' | 'words'

/** A value of the packet: a number (including addresses and protocols), a text, or a set of words such as states. */
export interface Part {
  readonly kind: Kind
  readonly value: bigint | string | ReadonlySet<string>
}

const PROTOCOLS: ReadonlyMap<string, bigint> = new Map([
  ['icmp', 1n],
  ['tcp', 6n],
  ['udp', 17n],
  ['ipv6-icmp', 58n],
  ['icmpv6', 58n],
  ['sctp', 132n],
])

/** Bits of the flags of TCP. */
const TCP_FLAGS: ReadonlyMap<string, bigint> = new Map(
  ['fin', 'syn', 'rst', 'psh', 'ack', 'urg', 'ecn', 'cwr'].map((name, bit) => [
    name,
    1n << BigInt(bit),
  ]),
)

/** The flags of the first packet of a TCP connection. */
export const SYN = 2n

/** The bits of flags, which nft prints as a name, a list of names, or an expression of `|`; undefined for anything else. */
export function flagsOf(literal: Json): bigint | undefined {
  if (typeof literal === 'number') return BigInt(literal)
  if (typeof literal === 'string') return TCP_FLAGS.get(literal)
  const [name, inner] = onlyMember(literal) ?? []
  const parts = isList(literal) ? literal : name === '|' && isList(inner) ? inner : []
  const bits = parts.map(flagsOf)
  if (bits.length === 0) return undefined
  return bits.reduce((all, one) => (all === undefined || one === undefined ? undefined : all | one))
}

/** The number of a protocol. */
export function protocolNumber(protocol: 'TCP' | 'UDP' | 'SCTP'): bigint {
  return PROTOCOLS.get(protocol.toLowerCase())!
}

export function addressPart(ip: IpAddress): Part {
  return { kind: 'address', value: addressNumber(ip) }
}

export function numberPart(value: number | bigint, kind: Kind = 'number'): Part {
  return { kind, value: BigInt(value) }
}

export function textPart(value: string): Part {
  return { kind: 'text', value }
}

/** The address that a number stands for. */
export function addressOf(value: bigint, bits: 32 | 128): IpAddress | undefined {
  if (bits === 32) {
    return parseIp([24n, 16n, 8n, 0n].map((shift) => Number((value >> shift) & 255n)).join('.'))
  }
  const hex = value.toString(16).padStart(32, '0')
  return parseIp(hex.replaceAll(/(.{4})(?=.)/g, '$1:'))
}

/** A literal as a number; undefined if it is not a number. */
export function literalNumber(literal: Json): bigint | undefined {
  if (typeof literal === 'number') return BigInt(literal)
  if (typeof literal !== 'string') return undefined
  const ip = parseIp(literal)
  if (ip !== undefined) return addressNumber(ip)
  return PROTOCOLS.get(literal)
}

/** First and last number of a prefix. */
function prefixBounds(address: Json, length: number): readonly [bigint, bigint] | undefined {
  const ip = typeof address === 'string' ? parseIp(address) : undefined
  if (ip === undefined) return undefined
  const bits = familyOf(ip) === 4 ? 32 : 128
  const host = (1n << BigInt(bits - length)) - 1n
  const first = addressNumber(ip) & ~host
  return [first, first | host]
}

/** Whether a literal, prefix, range or list matches a value; undefined if the literal cannot be interpreted. */
export function fits(part: Part, literal: Json): boolean | undefined {
  const [name, inner] = onlyMember(literal) ?? []
  if (name === 'prefix' && isObject(inner))
    return inPrefix(part, inner['addr'] ?? null, inner['len'])
  if (name === 'range' && isList(inner)) return inRange(part, inner)
  if (name === 'set') return fitsAny([part], isList(inner) ? inner : [inner ?? null])
  if (name === 'elem' && isObject(inner)) return fits(part, inner['val'] ?? null)
  if (part.kind === 'flags') {
    const flags = flagsOf(literal)
    return flags === undefined ? undefined : flags === part.value
  }
  const { kind, value } = part
  if (name === '|' && isList(inner) && typeof value === 'object') {
    return inner.length === value.size && inner.every((one) => value.has(textOf(one)))
  }
  if (isList(literal)) return fitsAny([part], literal)
  if (isObject(literal)) return undefined
  if (literal === '*') return true
  if (typeof value === 'object') return typeof literal === 'string' ? value.has(literal) : undefined
  if (typeof value === 'string')
    return typeof literal === 'string' ? fitsText(value, literal) : undefined
  const wanted = literalNumber(literal)
  // The value is TCP, UDP or SCTP, whose names are read as numbers, so a name here is that of another protocol.
  if (wanted === undefined) return kind === 'protocol' ? false : undefined
  return kind === 'address' && typeof literal === 'number' ? undefined : wanted === value
}

/** Whether the parts of a key match one of several elements; a `concat` describes each part. */
export function fitsAny(parts: readonly Part[], elements: readonly Json[]): boolean | undefined {
  let isKnown = true
  for (const element of elements) {
    const answer = fitsElement(parts, element)
    if (answer === true) return true
    if (answer === undefined) isKnown = false
  }
  return isKnown ? false : undefined
}

/** Whether the parts of a key match one element. */
export function fitsElement(parts: readonly Part[], element: Json): boolean | undefined {
  const [name, inner] = onlyMember(element) ?? []
  if (name === 'elem' && isObject(inner)) return fitsElement(parts, inner['val'] ?? null)
  if (element === '*') return true
  if (name !== 'concat' || !isList(inner)) {
    return parts.length === 1 ? fits(parts[0]!, element) : undefined
  }
  if (inner.length !== parts.length) return undefined
  const answers = parts.map((part, index) => fits(part, inner[index] ?? null))
  if (answers.includes(false)) return false
  return answers.includes(undefined) ? undefined : true
}

function inPrefix({ value }: Part, address: Json, length: Json | undefined) {
  const bounds = typeof length === 'number' ? prefixBounds(address, length) : undefined
  if (bounds === undefined || typeof value !== 'bigint') return undefined
  return value >= bounds[0] && value <= bounds[1]
}

function inRange({ value }: Part, [from, to]: readonly Json[]): boolean | undefined {
  const [first, last] = [literalNumber(from ?? null), literalNumber(to ?? null)]
  if (first === undefined || last === undefined || typeof value !== 'bigint') return undefined
  return value >= first && value <= last
}

/** Names of interfaces may end in `*`. */
function fitsText(value: string, literal: string): boolean {
  return literal.endsWith('*') ? value.startsWith(literal.slice(0, -1)) : value === literal
}
