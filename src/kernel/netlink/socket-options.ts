import { int, type LibC } from './libc.ts'

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

/** Sizes of the buffers of a socket, in bytes. */
export interface BufferSizes {
  readonly receive: number
  readonly send: number
}

/** A socket with the options of `tuneSocket`. */
export interface TunedSocket {
  /** Whether the kernel dropped messages to it since the previous call. */
  hasLost(): boolean
}

/**
 * Sets the options that the netlink package cannot set: buffers beyond the limits of the machine; errors with
 * a text (extended acknowledgement) and without a copy of the request; and lost messages that the kernel
 * counts instead of making them an error of the socket. libuv reports such an error in a way that ends the
 * process inside the package. Undefined: the kernel does not have the last option.
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
