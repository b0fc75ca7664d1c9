import { checked, libc, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK } from '../lab/libc.ts'
import { inside } from '../lab/namespace.ts'
import { SynRecord } from './causes.ts'
import { attachFilter, FILTERS } from './packet-filter.ts'
import { type Segment, segmentOf } from './segment.ts'

const AF_PACKET = 17
const ETH_P_ALL = 3
const SOL_SOCKET = 1
const SO_RCVBUFFORCE = 33
const SOL_PACKET = 263
const PACKET_STATISTICS = 6
/** The size of the buffer for packets that arrive while this process does not run. */
const BUFFER_BYTES = 64 << 20
/** Enough bytes for all headers of an IPv4 packet. */
const PACKET_BYTES = 120
const READ_MS = 5

/** A device of a namespace. */
export interface TracedDevice {
  readonly namespace: string
  readonly device: string
}

/** Reads the packets of handshakes on the connecting side and at the endpoints, until it is closed. */
export class SynTrace {
  readonly record = new SynRecord()
  readonly #taps: readonly Tap[]
  readonly #timer

  constructor(sender: TracedDevice, endpoints: TracedDevice) {
    this.#taps = [
      new Tap(sender, FILTERS.sender, (segment) => this.record.atSender(segment)),
      new Tap(endpoints, FILTERS.endpoints, (segment) => this.record.atEndpoints(segment)),
    ]
    this.#timer = setInterval(() => this.#read(), READ_MS)
  }

  /** @returns how many packets were lost because they were not read in time */
  close(): number {
    clearInterval(this.#timer)
    this.#read()
    return this.#taps.reduce((sum, tap) => sum + tap.close(), 0)
  }

  #read(): void {
    for (const tap of this.#taps) tap.read()
  }
}

/** A socket that gets copies of packets of a device, in both directions. */
class Tap {
  readonly #socket: number
  readonly #packet = Buffer.alloc(PACKET_BYTES)
  readonly #onSegment: (segment: Segment) => void

  constructor(
    { namespace, device }: TracedDevice,
    filter: Parameters<typeof attachFilter>[1],
    onSegment: (segment: Segment) => void,
  ) {
    this.#onSegment = onSegment
    const kind = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC
    this.#socket = inside(namespace, () => {
      const socket = checked(libc.socket(AF_PACKET, kind, 0), 'socket of packets')
      attachFilter(socket, filter)
      const address = linkAddress(libc.if_nametoindex(Buffer.from(`${device}\0`)))
      checked(libc.bind(socket, address, address.length), `bind to ${device}`)
      return socket
    })
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(BUFFER_BYTES)
    libc.setsockopt(this.#socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes, bytes.length)
  }

  read(): void {
    const packet = this.#packet
    for (;;) {
      const length = Number(libc.recv(this.#socket, packet, BigInt(packet.length), 0))
      if (length < 0) return
      const segment = segmentOf(packet.subarray(0, length))
      if (segment !== undefined) this.#onSegment(segment)
    }
  }

  /** @returns how many packets were dropped because the buffer was full */
  close(): number {
    // struct tpacket_stats: packets, and those that were dropped.
    const statistics = Buffer.alloc(8)
    const size = Buffer.from([statistics.length, 0, 0, 0])
    const read = libc.getsockopt(this.#socket, SOL_PACKET, PACKET_STATISTICS, statistics, size)
    checked(read, 'statistics of packets')
    libc.close(this.#socket)
    return statistics.readUInt32LE(4)
  }
}

/** struct sockaddr_ll. */
function linkAddress(index: number): Buffer {
  const address = Buffer.alloc(20)
  address.writeUInt16LE(AF_PACKET)
  address.writeUInt16BE(ETH_P_ALL, 2)
  address.writeInt32LE(index, 4)
  return address
}
