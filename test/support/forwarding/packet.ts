const IP_BYTES = 20
const PROTOCOL = { tcp: 6, udp: 17 } as const
const HOPS = 64

export interface Endpoint {
  /** An IPv4 address as a number. */
  readonly ip: number
  readonly port: number
}

export interface Path {
  readonly from: Endpoint
  readonly to: Endpoint
}

/** TCP flags (RFC 9293). */
export const FLAGS = { syn: 0x02, rst: 0x04 } as const

/** A TCP packet without data, with its IP header, from any source address. */
export function tcpPacket(path: Path, flags: number, sequence: number): Buffer {
  const segment = Buffer.alloc(20)
  segment.writeUInt16BE(path.from.port, 0)
  segment.writeUInt16BE(path.to.port, 2)
  segment.writeUInt32BE(sequence, 4)
  segment.writeUInt8(5 << 4, 12)
  segment.writeUInt8(flags, 13)
  segment.writeUInt16BE(65_535, 14)
  const pseudo = Buffer.alloc(12)
  pseudo.writeUInt32BE(path.from.ip, 0)
  pseudo.writeUInt32BE(path.to.ip, 4)
  pseudo.writeUInt16BE(PROTOCOL.tcp, 8)
  pseudo.writeUInt16BE(segment.length, 10)
  segment.writeUInt16BE(checksum(Buffer.concat([pseudo, segment])), 16)
  return Buffer.concat([ipHeader(path, PROTOCOL.tcp, segment.length), segment])
}

/** A datagram with its IP header; without a checksum, which IPv4 allows (RFC 768). */
export function udpPacket(path: Path, payload: Buffer): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt16BE(path.from.port, 0)
  header.writeUInt16BE(path.to.port, 2)
  header.writeUInt16BE(header.length + payload.length, 4)
  const length = header.length + payload.length
  return Buffer.concat([ipHeader(path, PROTOCOL.udp, length), header, payload])
}

/** The number of an IPv4 address. */
export function ipNumber(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

/** An IP header, whose checksum and identification the kernel fills in (raw(7)). */
function ipHeader({ from, to }: Path, protocol: number, length: number): Buffer {
  const header = Buffer.alloc(IP_BYTES)
  header.writeUInt8(0x45, 0)
  header.writeUInt16BE(IP_BYTES + length, 2)
  header.writeUInt8(HOPS, 8)
  header.writeUInt8(protocol, 9)
  header.writeUInt32BE(from.ip, 12)
  header.writeUInt32BE(to.ip, 16)
  return header
}

function checksum(bytes: Buffer): number {
  let sum = 0
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
