import { readdirSync } from 'node:fs'
import { int, type LibC } from './libc.ts'

/** asm-generic/socket.h. */
const SOL_SOCKET = 1
const SO_PROTOCOL = 38
const SO_DOMAIN = 39
export const AF_NETLINK = 16
/** struct sockaddr_nl: family, two bytes of padding, port, groups. */
export const ADDRESS_BYTES = 12
export const ADDRESS_PORT = 4

/** What identifies a netlink socket in this network namespace. */
export interface SocketName {
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
