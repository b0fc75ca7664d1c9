import { readdirSync } from 'node:fs'

/** asm-generic/socket.h and linux/netlink.h. */
const SOL_SOCKET = 1
const SO_SNDBUFFORCE = 32
const SO_RCVBUFFORCE = 33
const SO_PROTOCOL = 38
const SO_DOMAIN = 39
const SO_MEMINFO = 55
const SOL_NETLINK = 270
const NETLINK_NO_ENOBUFS = 5
const NETLINK_CAP_ACK = 10
const NETLINK_EXT_ACK = 11
const AF_NETLINK = 16
/** linux/sock_diag.h: SO_MEMINFO fills SK_MEMINFO_VARS numbers; this one counts lost messages. */
const MEMINFO_BYTES = 9 * 4
const MEMINFO_DROPS = 8 * 4
/** struct sockaddr_nl; the port follows the family and two bytes of padding. */
const ADDRESS_BYTES = 12
const ADDRESS_PORT = 4

const SIGNATURES = {
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  getsockname: { arguments: ['i32', 'buffer', 'buffer'], return: 'i32' },
} as const

export interface SocketName {
  readonly protocol: number
  /** The port that it is bound to. */
  readonly port: number
}

/** In bytes. */
export interface BufferSizes {
  readonly receive: number
  readonly send: number
}

/** What can be done to a socket that another library opened. */
export interface TunedSocket {
  /** Whether the kernel dropped messages to it since this was asked before. */
  hasLost(): boolean
}

export type TuneSocket = (name: SocketName, buffers: BufferSizes) => TunedSocket | undefined

/**
 * Sets what the netlink package cannot: buffers beyond the limits of the
 * machine, refusals in words (extended acknowledgement) that do not repeat the
 * request, and lost messages that are counted instead of being an error of the
 * socket. libuv reports such an error in a way that the package does not
 * survive: it ends the process. Undefined, for a function or a socket: this Node
 * has no foreign function interface, or the socket was not found among our files.
 */
export function openSocketTuner(): TuneSocket | undefined {
  const libc = openLibc()
  return libc && ((name, buffers) => tuneSocket(libc, name, buffers))
}

function tuneSocket(libc: LibC, name: SocketName, buffers: BufferSizes): TunedSocket | undefined {
  const fd = findSocket(libc, name)
  if (fd === undefined) return undefined
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

type LibC = NonNullable<ReturnType<typeof openLibc>>

function openLibc() {
  try {
    return process.getBuiltinModule('node:ffi').dlopen('libc.so.6', SIGNATURES).functions
  } catch {
    return undefined
  }
}

/** The file whose name as a socket is the one asked for; there is one at most. */
function findSocket(libc: LibC, name: SocketName): number | undefined {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .find((fd) => {
      if (readInt(libc, fd, SO_DOMAIN) !== AF_NETLINK) return false
      return readInt(libc, fd, SO_PROTOCOL) === name.protocol && portOf(libc, fd) === name.port
    })
}

function readInt(libc: LibC, fd: number, option: number): number | undefined {
  const value = int(0)
  return libc.getsockopt(fd, SOL_SOCKET, option, value, int(4)) === 0
    ? value.readInt32LE()
    : undefined
}

function portOf(libc: LibC, fd: number): number | undefined {
  const address = Buffer.alloc(ADDRESS_BYTES)
  const known = libc.getsockname(fd, address, int(ADDRESS_BYTES)) === 0
  return known ? address.readUInt32LE(ADDRESS_PORT) : undefined
}

function countLost(libc: LibC, fd: number): number {
  const counts = Buffer.alloc(MEMINFO_BYTES)
  libc.getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, int(MEMINFO_BYTES))
  return counts.readUInt32LE(MEMINFO_DROPS)
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}
