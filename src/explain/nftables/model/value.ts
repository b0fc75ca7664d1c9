import { familyOf, type IpAddress, parseIp } from '../../../lib/ip.ts'
import { addressNumber } from '../../../lib/ip-range.ts'
import type { Json } from './json.ts'

/** The meaning of a value, which determines how a literal compared with it is read. */
export type Kind = 'address' | 'protocol' | 'number' | 'text' | 'words'

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
export function prefixBounds(address: Json, length: number): readonly [bigint, bigint] | undefined {
  const ip = typeof address === 'string' ? parseIp(address) : undefined
  if (ip === undefined) return undefined
  const bits = familyOf(ip) === 4 ? 32 : 128
  const host = (1n << BigInt(bits - length)) - 1n
  const first = addressNumber(ip) & ~host
  return [first, first | host]
}
