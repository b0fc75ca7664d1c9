import { readdirSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'

const SIGNATURES = {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  bind: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  getsockname: { arguments: ['i32', 'buffer', 'buffer'], return: 'i32' },
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  send: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  recvfrom: { arguments: ['i32', 'buffer', 'u64', 'i32', 'buffer', 'buffer'], return: 'i64' },
  close: { arguments: ['i32'], return: 'i32' },
  __errno_location: { arguments: [], return: 'pointer' },
} as const

/** The system calls on sockets; they return -1 on failure. */
export type LibC = NonNullable<ReturnType<typeof openLibc>>

/** Undefined if this Node has no foreign function interface, or the machine has another C library. */
export function openLibc() {
  try {
    const ffi = process.getBuiltinModule('node:ffi')
    const { functions } = ffi.dlopen('libc.so.6', SIGNATURES)
    const errno = () => ffi.getInt32(functions.__errno_location(), 0)
    return { ...functions, errnoName: () => getSystemErrorName(-errno() || -1) }
  } catch {
    return undefined
  }
}

/** An `int` for a system call to read or to write. */
export function int(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

/** asm-generic/socket.h. */
const SOL_SOCKET = 1
const SO_PROTOCOL = 38
const SO_DOMAIN = 39
export const AF_NETLINK = 16
/** struct sockaddr_nl: family, two bytes of padding, port, groups. */
export const ADDRESS_BYTES = 12
export const ADDRESS_PORT = 4

/** What identifies a netlink socket in this network namespace. */
interface SocketName {
  /** The netlink family. */
  readonly protocol: number
  /** The port that it is bound to. */
  readonly port: number
}

/** The file descriptor of a netlink socket that another library opened in this process. */
export function findSocket(libc: LibC, name: SocketName): number | undefined {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .find((fd) => {
      if (readInt(libc, fd, SO_DOMAIN) !== AF_NETLINK) return false
      return readInt(libc, fd, SO_PROTOCOL) === name.protocol && portOf(libc, fd) === name.port
    })
}

/** The port that a netlink socket is bound to. */
export function portOf(libc: LibC, fd: number): number | undefined {
  const address = Buffer.alloc(ADDRESS_BYTES)
  const known = libc.getsockname(fd, address, int(ADDRESS_BYTES)) === 0
  return known ? address.readUInt32LE(ADDRESS_PORT) : undefined
}

function readInt(libc: LibC, fd: number, option: number): number | undefined {
  const value = int(0)
  const known = libc.getsockopt(fd, SOL_SOCKET, option, value, int(4)) === 0
  return known ? value.readInt32LE() : undefined
}
