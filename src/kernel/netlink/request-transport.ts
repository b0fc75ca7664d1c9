import { NodeProxyError } from '../../lib/error.ts'
import {
  ADDRESS_BYTES,
  ADDRESS_PORT,
  AF_NETLINK,
  int,
  type LibC,
  openLibc,
  portOf,
} from './libc.ts'
import { rawTransport, type TunedSocket, tuneSocket } from './raw-transport.ts'
import type { OpenTransport, Transport, TransportHandlers } from './transport.ts'

/** asm-generic: SOCK_RAW, SOCK_CLOEXEC, SOCK_NONBLOCK; MSG_TRUNC. */
const SOCKET_TYPE = 3 | 0x8_0000 | 0x800
const MSG_TRUNC = 0x20
const BUFFER_BYTES = 4 * 1024 * 1024
/** Longer than any datagram of the kernel, which sends lists in pieces of 32 KiB. */
const MAX_DATAGRAM_BYTES = 64 * 1024
/** Bytes that are sent or read in one turn of the event loop, so that others have their turn. */
const TURN_BYTES = 64 * 1024
/** So many datagrams fit into any receive buffer, so a queue that was no longer has lost nothing. */
const SAFE_DATAGRAMS = 8

/**
 * Opens sockets of one netlink family for requests only, with direct system calls. The kernel answers while it
 * processes a request, so no waiting is needed, and a round trip costs a fraction of one through the event loop. If
 * Node has no foreign function interface, this is `rawTransport`.
 */
export function requestTransport(protocol: number, receiveBytes = BUFFER_BYTES): OpenTransport {
  let libc: LibC | undefined
  return (handlers) => {
    libc ??= openLibc()
    if (libc === undefined) return rawTransport(protocol, { receive: receiveBytes })(handlers)
    const fd = openSocket(libc, protocol)
    const tuned = tuneSocket(libc, fd, { receive: receiveBytes, send: BUFFER_BYTES })
    return new RequestSocket({ libc, fd, tuned }, handlers)
  }
}

interface OpenSocket {
  readonly libc: LibC
  readonly fd: number
  readonly tuned: TunedSocket | undefined
}

class RequestSocket implements Transport {
  readonly port: number
  readonly #socket: OpenSocket
  readonly #handlers: TransportHandlers
  readonly #buffer = Buffer.allocUnsafeSlow(MAX_DATAGRAM_BYTES)
  readonly #sender = Buffer.alloc(ADDRESS_BYTES)
  /** Bytes of this turn. */
  #spent = 0
  /** Datagrams that were read since the queue was empty. */
  #datagrams = 0
  #turn: NodeJS.Immediate | undefined
  #alive: NodeJS.Timeout | undefined
  #open = true

  constructor(socket: OpenSocket, handlers: TransportHandlers) {
    this.#socket = socket
    this.#handlers = handlers
    this.port = portOf(socket.libc, socket.fd) ?? 0
  }

  async send(bytes: Buffer): Promise<void> {
    const { libc, fd } = this.#socket
    if (!this.#open) throw failure('the socket was closed')
    if (libc.send(fd, bytes, BigInt(bytes.length), 0) < 0n) {
      throw failure(`message of ${bytes.length} bytes not sent: ${libc.errnoName()}`)
    }
    this.#spent += bytes.length
    this.#read()
  }

  join(): never {
    throw new TypeError('a socket for requests cannot join groups')
  }

  leave(): never {
    throw new TypeError('a socket for requests cannot join groups')
  }

  hold(busy: boolean): void {
    clearInterval(this.#alive)
    this.#alive = busy ? setInterval(() => undefined, 0x7fff_ffff) : undefined
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.hold(false)
    clearImmediate(this.#turn)
    this.#socket.libc.close(this.#socket.fd)
  }

  /** Delivers received messages until the queue is empty or the turn is over. */
  #read(): void {
    while (this.#open) {
      if (this.#spent >= TURN_BYTES) return this.#continueLater()
      const length = this.#receive()
      if (length < 0) {
        const mayHaveLost = this.#datagrams > SAFE_DATAGRAMS
        this.#datagrams = 0
        if (mayHaveLost && this.#socket.tuned?.hasLost()) this.#handlers.onOverrun()
        return
      }
      this.#datagrams++
      this.#spent += length
      if (length > MAX_DATAGRAM_BYTES) this.#handlers.onOverrun()
      else this.#deliver(length)
    }
  }

  #receive(): number {
    const { libc, fd } = this.#socket
    const size = BigInt(MAX_DATAGRAM_BYTES)
    const addressLength = int(ADDRESS_BYTES)
    return Number(libc.recvfrom(fd, this.#buffer, size, MSG_TRUNC, this.#sender, addressLength))
  }

  /** Port 0 is the kernel; messages of other ports are ignored, because any process may write to this socket. */
  #deliver(length: number): void {
    if (this.#sender.readUInt32LE(ADDRESS_PORT) !== 0) return
    this.#handlers.onDatagram(Buffer.from(this.#buffer.subarray(0, length)))
  }

  #continueLater(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined
      this.#spent = 0
      this.#read()
    })
  }
}

function openSocket(libc: LibC, protocol: number): number {
  const fd = libc.socket(AF_NETLINK, SOCKET_TYPE, protocol)
  if (fd < 0) throw failure(`family ${protocol} cannot be opened: ${libc.errnoName()}`)
  const address = Buffer.alloc(ADDRESS_BYTES)
  address.writeUInt16LE(AF_NETLINK)
  if (libc.bind(fd, address, ADDRESS_BYTES) === 0) return fd
  const reason = libc.errnoName()
  libc.close(fd)
  throw failure(`family ${protocol} has no port: ${reason}`)
}

function failure(message: string): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', `netlink: ${message}`)
}
