import { constants } from 'node:os'
import type { ErrnoException, RawNetlinkSocket } from 'netlink/dist/raw.js'
import raw from 'netlink/dist/raw.js'
import { NodeProxyError } from '../../lib/error.ts'
import { findSocket, int, type LibC, openLibc } from './libc.ts'
import type { OpenTransport, Transport, TransportHandlers } from './transport.ts'

/** asm-generic/socket.h and linux/netlink.h. */
const SOL_SOCKET = 1
const SO_SNDBUFFORCE = 32
const SO_RCVBUFFORCE = 33
const SO_MEMINFO = 55
const SOL_NETLINK = 270
const NETLINK_NO_ENOBUFS = 5
const NETLINK_CAP_ACK = 10
const NETLINK_EXT_ACK = 11
/** linux/sock_diag.h: SO_MEMINFO fills SK_MEMINFO_VARS numbers; this one counts lost messages. */
const MEMINFO_BYTES = 9 * 4
const MEMINFO_DROPS = 8 * 4

/** A socket with the options of `tuneSocket`. */
export interface TunedSocket {
  /** Whether the kernel dropped messages to it since the previous call. */
  hasLost(): boolean
}

/** If the size cannot be forced, the kernel limits it to net.core.rmem_max and wmem_max. */
const BUFFER_BYTES = 4 * 1024 * 1024

/** Sizes of the buffers of a socket, in bytes; each has a default. */
export interface RawTransportSizes {
  /** Bytes that may wait to be read. */
  readonly receive?: number
  /** Size of the largest datagram to send. */
  readonly send?: number
  /**
   * Size of the largest datagram to receive. The kernel fills the datagrams of a list up to the largest read so far,
   * and ends the list before an object that does not fit into one; the default is 8 KiB.
   */
  readonly datagram?: number
}

/** Opens sockets of one netlink family. */
export function rawTransport(protocol: number, sizes: RawTransportSizes = {}): OpenTransport {
  const { receive = BUFFER_BYTES, send = BUFFER_BYTES, datagram } = sizes
  const peeking = datagram ? { messagePeeking: false, msgBufferSize: datagram } : {}
  let libc: LibC | undefined
  return (handlers) => {
    try {
      libc ??= openLibc()
      const buffers = { receive, send }
      const options = { recvBufferSize: receive, sendBufferSize: send, ...peeking }
      const socket = new raw.RawNetlinkSocket(protocol, options)
      const fd = libc && findSocket(libc, { protocol, port: socket.address().port })
      const tuned = libc && fd !== undefined ? tuneSocket(libc, fd, buffers) : undefined
      return connect(socket, handlers, tuned)
    } catch (error) {
      throw new NodeProxyError('NP_KERNEL_NETLINK', `netlink family ${protocol} cannot be opened`, {
        cause: error,
      })
    }
  }
}

function connect(
  socket: RawNetlinkSocket,
  handlers: TransportHandlers,
  tuned: TunedSocket | undefined,
): Transport {
  let open = true
  socket.on('message', (bytes, from) => {
    // Port 0 is the kernel; any process may write to this socket.
    if (from.port !== 0) return
    // Messages are only lost while many are waiting, so another one follows that reveals the loss.
    if (tuned?.hasLost() === true) guard(() => handlers.onOverrun())
    guard(() => handlers.onDatagram(bytes))
  })
  socket.on('error', (error: ErrnoException) => {
    const overrun = error.errno === constants.errno.ENOBUFS
    guard(() => (overrun ? handlers.onOverrun() : rethrow(error)))
  })
  socket.unref()
  return {
    port: socket.address().port,
    send: (bytes) =>
      new Promise((resolve, reject) => {
        if (!open) throw new NodeProxyError('NP_KERNEL_NETLINK', 'netlink: the socket was closed')
        socket.send(bytes, {}, (error) => {
          if (error === undefined) return resolve()
          const message = `netlink: message of ${bytes.length} bytes not sent: ${error.code}`
          reject(new NodeProxyError('NP_KERNEL_NETLINK', message, { cause: error }))
        })
      }),
    join: (group) => socket.addMembership(group),
    leave: (group) => socket.dropMembership(group),
    hold(busy) {
      if (open && busy) socket.ref()
      if (open && !busy) socket.unref()
    },
    close() {
      if (open) socket.close()
      open = false
    },
  }
}

/**
 * An exception must not pass through the native callback: the process would end without a stack trace. Instead it is
 * thrown again from the event loop.
 */
function guard(work: () => void): void {
  try {
    work()
  } catch (error) {
    setImmediate(rethrow, error)
  }
}

function rethrow(error: unknown): never {
  throw error
}

/** Sizes of the buffers of a socket, in bytes. */
interface BufferSizes {
  readonly receive: number
  readonly send: number
}

/**
 * Sets the options that the netlink package cannot set: buffers beyond the limits of the machine; errors with a text
 * (extended acknowledgement) and without a copy of the request; and lost messages that the kernel counts instead of
 * reporting them as an error of the socket. libuv reports such an error in a way that ends the process inside the
 * package. Returns undefined if the kernel does not have the last option.
 */
export function tuneSocket(libc: LibC, fd: number, buffers: BufferSizes): TunedSocket | undefined {
  const set = (level: number, option: number, value: number) =>
    libc.setsockopt(fd, level, option, int(value), 4) === 0
  set(SOL_SOCKET, SO_RCVBUFFORCE, buffers.receive)
  set(SOL_SOCKET, SO_SNDBUFFORCE, buffers.send)
  set(SOL_NETLINK, NETLINK_EXT_ACK, 1)
  set(SOL_NETLINK, NETLINK_CAP_ACK, 1)
  if (!set(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)) return undefined
  let known = 0
  return {
    hasLost() {
      const lost = countLost(libc, fd)
      const isMore = lost !== known
      known = lost
      return isMore
    },
  }
}

function countLost(libc: LibC, fd: number): number {
  const counts = Buffer.alloc(MEMINFO_BYTES)
  libc.getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, int(MEMINFO_BYTES))
  return counts.readUInt32LE(MEMINFO_DROPS)
}
