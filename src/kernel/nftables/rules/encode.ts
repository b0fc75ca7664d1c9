import { type Cidr, familyOf, formatIp, type IpAddress, ipBytes } from '../../../lib/ip.ts'

/** Numbers of linux/in.h: IPPROTO_…. */
export const PROTOCOL_NUMBER = { TCP: 6, UDP: 17, SCTP: 132 } as const

/** The protocols with ports. */
export type Protocol = keyof typeof PROTOCOL_NUMBER

/** Character codes. */
const [DOT, ZERO] = [0x2e, 0x30] as const

/**
 * Fields of keys and data as registers hold them: network byte order, padded to 4 bytes. Marks and indexes are in
 * the host's byte order, which is little-endian on every platform with a netlink socket for Node.
 */
export function address(ip: IpAddress): Buffer {
  const bytes = Buffer.allocUnsafe(lengthOf(ip))
  writeAddress(bytes, ip)
  return bytes
}

export function protocol(name: Protocol): Buffer {
  return Buffer.from([PROTOCOL_NUMBER[name], 0, 0, 0])
}

export function port(number: number): Buffer {
  return Buffer.from([number >> 8, number & 0xff, 0, 0])
}

export function hostWord(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number >>> 0)
  return bytes
}

/** Address . port, as a map of backends has them. */
export function backendData({
  ip,
  port: number,
}: {
  readonly ip: IpAddress
  readonly port: number
}): Buffer {
  const length = lengthOf(ip)
  const bytes = Buffer.allocUnsafe(length + 4)
  writeAddress(bytes, ip)
  bytes.writeUInt32BE(number * 2 ** 16, length)
  return bytes
}

/** The key of a frontend: address . proto . port, of a node port proto . port. */
export function frontendAddress(ip: IpAddress | 'node', name: Protocol, number: number): Buffer {
  const place = [protocol(name), port(number)]
  return Buffer.concat(ip === 'node' ? place : [address(ip), ...place])
}

function lengthOf(ip: IpAddress): number {
  return familyOf(ip) === 4 ? 4 : 16
}

/** Parses the digits of an IPv4 address directly, because there are hundreds of thousands of them. */
function writeAddress(bytes: Buffer, ip: IpAddress): void {
  if (familyOf(ip) === 6) return bytes.set(ipBytes(ip))
  let [place, octet] = [0, 0]
  for (let at = 0; at < ip.length; at++) {
    const character = ip.charCodeAt(at)
    if (character === DOT) {
      bytes[place++] = octet
      octet = 0
    } else octet = octet * 10 + character - ZERO
  }
  bytes[place] = octet
}

/** The key of a frontend followed by the index of a choice. */
export function indexed(key: Buffer, index: number): Buffer {
  const bytes = Buffer.allocUnsafe(key.length + 4)
  bytes.set(key)
  bytes.writeUInt32LE(index, key.length)
  return bytes
}

/** The name of an interface, or the beginning of one, without padding. */
export function text(name: string): Buffer {
  return Buffer.from(name, 'latin1')
}

/** A network as its first and last address, and as the mask of its prefix. */
export interface Network {
  readonly first: Buffer
  readonly last: Buffer
  readonly mask: Buffer
  readonly prefix: number
}

export function network(cidr: Cidr): Network {
  const [ip = '', length = ''] = cidr.split('/')
  const first = address(ip as IpAddress)
  const prefix = Number(length)
  const mask = Buffer.from(first.map((_, index) => prefixByte(prefix - index * 8)))
  const last = Buffer.from(first.map((byte, index) => byte | (~mask[index]! & 0xff)))
  return { first, last, mask, prefix }
}

function prefixByte(bits: number): number {
  return 0xff & (0xff << (8 - Math.min(Math.max(bits, 0), 8)))
}

/** The same networks without those that others contain: a set refuses overlapping ranges. */
export function disjoint(cidrs: readonly Cidr[]): readonly Network[] {
  const networks = cidrs
    .map(network)
    .toSorted((a, b) => a.first.compare(b.first) || a.prefix - b.prefix)
  const kept: Network[] = []
  for (const one of networks) {
    const before = kept.at(-1)
    if (before === undefined || before.last.compare(one.first) < 0) kept.push(one)
  }
  return kept
}

/** Reads what `address` wrote, 4 or 16 bytes. */
export function readAddress(bytes: Buffer): IpAddress {
  return formatIp(bytes)
}

/** Reads what `protocol` wrote; undefined for a protocol that no Service has. */
export function readProtocol(bytes: Buffer): Protocol | undefined {
  const protocols = ['TCP', 'UDP', 'SCTP'] as const
  return protocols.find((name) => PROTOCOL_NUMBER[name] === bytes[0])
}
