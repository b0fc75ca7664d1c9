/**
 * The first two packets of an SCTP association (RFC 9260): enough to prove where a packet goes, on kernels without SCTP
 * sockets. The answer to INIT has the text of its sender in place of the state cookie.
 */
export interface SctpPacket {
  readonly sourcePort: number
  readonly destinationPort: number
  readonly chunk: 'INIT' | 'INIT ACK' | 'ABORT' | 'other'
  /** Initiate tag of an INIT, to be echoed as verification tag. */
  readonly tag: number
  readonly words: string
}

const CHUNKS: Readonly<Record<number, SctpPacket['chunk']>> = {
  1: 'INIT',
  2: 'INIT ACK',
  6: 'ABORT',
}
const HEADER = 12
const CHUNK_FIXED = 20
const COOKIE = 7

export function encodeInit(sourcePort: number, destinationPort: number, tag: number): Buffer {
  return seal(header(sourcePort, destinationPort, 0), chunk(1, tag, ''))
}

/** The answer to `init`, with `words` as its text. */
export function encodeInitAck(init: SctpPacket, words: string): Buffer {
  return seal(header(init.destinationPort, init.sourcePort, init.tag), chunk(2, 1, words))
}

export function decodeSctp(packet: Buffer): SctpPacket | undefined {
  if (packet.length < HEADER + 4) return undefined
  const cookie = HEADER + CHUNK_FIXED
  const hasWords = packet.length > cookie + 4
  return {
    sourcePort: packet.readUInt16BE(0),
    destinationPort: packet.readUInt16BE(2),
    chunk: CHUNKS[packet[HEADER] ?? 0] ?? 'other',
    tag: packet.length >= HEADER + 8 ? packet.readUInt32BE(HEADER + 4) : 0,
    words: hasWords ? textOf(packet.subarray(cookie)) : '',
  }
}

function textOf(cookie: Buffer): string {
  return cookie.subarray(4, cookie.readUInt16BE(2)).toString()
}

function header(sourcePort: number, destinationPort: number, tag: number): Buffer {
  const bytes = Buffer.alloc(HEADER)
  bytes.writeUInt16BE(sourcePort, 0)
  bytes.writeUInt16BE(destinationPort, 2)
  bytes.writeUInt32BE(tag, 4)
  return bytes
}

/** INIT or INIT ACK: tag, window, streams, first TSN, and a cookie if there are words. */
function chunk(type: number, tag: number, words: string): Buffer {
  const text = Buffer.from(words)
  const cookie = text.length === 0 ? 0 : 4 + text.length
  const bytes = Buffer.alloc(CHUNK_FIXED + Math.ceil(cookie / 4) * 4)
  bytes[0] = type
  bytes.writeUInt16BE(CHUNK_FIXED + cookie, 2)
  bytes.writeUInt32BE(tag, 4)
  bytes.writeUInt32BE(65_535, 8)
  bytes.writeUInt16BE(1, 12)
  bytes.writeUInt16BE(1, 14)
  bytes.writeUInt32BE(1, 16)
  if (cookie > 0) {
    bytes.writeUInt16BE(COOKIE, CHUNK_FIXED)
    bytes.writeUInt16BE(cookie, CHUNK_FIXED + 2)
    text.copy(bytes, CHUNK_FIXED + 4)
  }
  return bytes
}

function seal(head: Buffer, body: Buffer): Buffer {
  const packet = Buffer.concat([head, body])
  packet.writeUInt32LE(crc32c(packet), 8)
  return packet
}

/** Castagnoli's CRC-32 (RFC 9260 appendix A), bit by bit. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
