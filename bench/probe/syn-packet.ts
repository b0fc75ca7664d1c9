import { PROBES, SERVICE_PORT } from '../lab/plan.ts'

const LENGTH = 40
const SOURCES = 65_534
const FIRST_PORT = 1_024
const PORTS = 64_000

/**
 * IPv4 and TCP headers of a connection's first packet (RFC 791, RFC 9293), in one buffer that is reused with a new
 * source address and port each time.
 */
export class SynPackets {
  readonly buffer = Buffer.alloc(LENGTH)
  #serial = 0

  constructor() {
    const { buffer } = this
    buffer.writeUInt8(0x45, 0)
    buffer.writeUInt16BE(LENGTH, 2)
    buffer.writeUInt8(64, 8)
    buffer.writeUInt8(6, 9)
    buffer.writeUInt16BE(SERVICE_PORT, 22)
    buffer.writeUInt8(0x50, 32)
    buffer.writeUInt8(0x02, 33)
    buffer.writeUInt16BE(64_240, 34)
  }

  /** Makes `buffer` the first packet of the next connection to this address. */
  next(destination: number): void {
    const { buffer } = this
    const serial = this.#serial++
    buffer.writeUInt32BE(PROBES + 1 + (serial % SOURCES), 12)
    buffer.writeUInt32BE(destination, 16)
    buffer.writeUInt16BE(FIRST_PORT + (Math.floor(serial / SOURCES) % PORTS), 20)
    buffer.writeUInt32BE(serial >>> 0, 24)
    buffer.writeUInt16BE(0, 36)
    buffer.writeUInt16BE(this.#checksum(), 36)
  }

  /** The checksum of the segment and its pseudo header; connection tracking ignores packets with a wrong one. */
  #checksum(): number {
    let sum = 6 + 20
    for (let at = 12; at < LENGTH; at += 2) sum += this.buffer.readUInt16BE(at)
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
    return ~sum & 0xffff
  }
}
