import { internetChecksum } from './checksum.ts'
import { MSG, SOCK } from './constants.ts'
import { AF_INET, AF_INET6, ipPart, type SocketAddress } from './socket-address.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

const PROTOCOL = { icmp: 1, udp: 17, icmp6: 58 } as const
/** Type and code of "port unreachable" in ICMP (RFC 792) and ICMPv6 (RFC 4443). */
const TYPE_AND_CODE = { icmp: [3, 3], icmp6: [1, 4] } as const
const ICMP_BYTES = 8
const UDP_BYTES = 8
/** TTL or hop limit of the quoted packet. */
const HOPS = 64
/** The same limit as the kernel's for its own messages (icmp_msgs_per_sec), because sender addresses may be forged. */
const MAX_PER_SECOND = 1_000

/** A UDP datagram from a client that no backend receives. */
export interface LostDatagram {
  readonly client: SocketAddress
  readonly destination: SocketAddress
  /** The size of its payload in bytes. */
  readonly length: number
}

/** Sends clients ICMP port unreachable (RFC 792, RFC 4443), as the kernel does for a closed port. */
export class UnreachableSender {
  readonly #sys: Syscalls
  readonly #memory: NativeMemory
  #second = 0
  #sentInSecond = 0
  /** Raw sockets by address family. */
  readonly #sockets = new Map<number, number>()

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#memory = sys.allocate(256)
  }

  /** Returns false if it was not sent, without CAP_NET_RAW or because the limit of this second is reached. */
  send(lost: LostDatagram): boolean {
    if (!this.#maySend(performance.now())) return false
    const { client } = lost
    const socket = this.#socket(client[0] === AF_INET6 ? AF_INET6 : AF_INET)
    if (socket < 0) return false
    const message = portUnreachable(lost)
    const clientWithoutPort = Uint8Array.from(client)
    clientWithoutPort.fill(0, 2, 4)
    this.#memory.bytes.set(message)
    this.#memory.bytes.set(clientWithoutPort, message.length)
    const { address } = this.#memory
    const size = client[0] === AF_INET6 ? 28 : 16
    const to = address + BigInt(message.length)
    return this.#sys.sendto(socket, address, message.length, MSG.noSignal, to, size) >= 0
  }

  close(): void {
    for (const socket of this.#sockets.values()) this.#sys.close(socket)
    this.#sockets.clear()
  }

  #maySend(now: number): boolean {
    const second = Math.floor(now / 1_000)
    if (second !== this.#second) this.#sentInSecond = 0
    this.#second = second
    return ++this.#sentInSecond <= MAX_PER_SECOND
  }

  /** Negative without CAP_NET_RAW or a free descriptor; the next datagram tries again. */
  #socket(family: number): number {
    const known = this.#sockets.get(family)
    if (known !== undefined) return known
    const protocol = family === AF_INET6 ? PROTOCOL.icmp6 : PROTOCOL.icmp
    const flags = SOCK.nonBlocking | SOCK.closeOnExec
    const socket = this.#sys.socket(family, SOCK.raw | flags, protocol)
    if (socket >= 0) this.#sockets.set(family, socket)
    return socket
  }
}

/**
 * The ICMP message, which quotes the headers of the lost packet. An ICMPv6 message is returned without a checksum,
 * because the kernel computes it for raw sockets (RFC 3542).
 */
export function portUnreachable({ client, destination, length }: LostDatagram): Uint8Array {
  const [source, target] = [ipPart(client), ipPart(destination)]
  const isFour = source.length === 4
  const header = isFour ? ipv4Header(source, target, length) : ipv6Header(source, target, length)
  const message = new Uint8Array(ICMP_BYTES + header.length + UDP_BYTES)
  const view = new DataView(message.buffer)
  const [type, code] = TYPE_AND_CODE[isFour ? 'icmp' : 'icmp6']
  message[0] = type
  message[1] = code
  message.set(header, ICMP_BYTES)
  const udp = ICMP_BYTES + header.length
  message.set(client.subarray(2, 4), udp)
  message.set(destination.subarray(2, 4), udp + 2)
  view.setUint16(udp + 4, UDP_BYTES + length)
  if (isFour) view.setUint16(2, internetChecksum(message))
  return message
}

function ipv4Header(source: Uint8Array, target: Uint8Array, length: number): Uint8Array {
  const header = new Uint8Array(20)
  const view = new DataView(header.buffer)
  header[0] = 0x45
  view.setUint16(2, header.length + UDP_BYTES + length)
  header[8] = HOPS
  header[9] = PROTOCOL.udp
  header.set(source, 12)
  header.set(target, 16)
  view.setUint16(10, internetChecksum(header))
  return header
}

function ipv6Header(source: Uint8Array, target: Uint8Array, length: number): Uint8Array {
  const header = new Uint8Array(40)
  header[0] = 0x60
  new DataView(header.buffer).setUint16(4, UDP_BYTES + length)
  header[6] = PROTOCOL.udp
  header[7] = HOPS
  header.set(source, 8)
  header.set(target, 24)
  return header
}
