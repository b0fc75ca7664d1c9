import { dlopen } from 'node:ffi'

/** The system calls that Node does not offer: namespaces, raw and blocking sockets, clocks. */
export const { functions: libc } = dlopen('libc.so.6', {
  setns: { return: 'i32', arguments: ['i32', 'i32'] },
  socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
  setsockopt: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'] },
  getsockopt: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'] },
  bind: { return: 'i32', arguments: ['i32', 'buffer', 'u32'] },
  listen: { return: 'i32', arguments: ['i32', 'i32'] },
  connect: { return: 'i32', arguments: ['i32', 'buffer', 'u32'] },
  accept4: { return: 'i32', arguments: ['i32', 'pointer', 'pointer', 'i32'] },
  sendto: { return: 'i64', arguments: ['i32', 'buffer', 'u64', 'i32', 'buffer', 'u32'] },
  recv: { return: 'i64', arguments: ['i32', 'buffer', 'u64', 'i32'] },
  close: { return: 'i32', arguments: ['i32'] },
  ioctl: { return: 'i32', arguments: ['i32', 'u64', 'buffer'] },
  clock_gettime: { return: 'i32', arguments: ['i32', 'buffer'] },
  if_nametoindex: { return: 'u32', arguments: ['buffer'] },
})

export const AF_INET = 2
export const AF_NETLINK = 16
export const SOCK_STREAM = 1
export const SOCK_DGRAM = 2
export const SOCK_RAW = 3
export const SOCK_NONBLOCK = 0o4000
export const SOCK_CLOEXEC = 0o2000000

/** struct sockaddr_in. */
export function socketAddress(ip: number, port: number): Buffer {
  const address = Buffer.alloc(16)
  address.writeUInt16LE(AF_INET)
  address.writeUInt16BE(port, 2)
  address.writeUInt32BE(ip, 4)
  return address
}

const CLOCK_REALTIME = 0

/** The clock with which the kernel stamps packets; milliseconds since the epoch. */
export function kernelClock(): number {
  const time = Buffer.alloc(16)
  libc.clock_gettime(CLOCK_REALTIME, time)
  return timespecMs(time)
}

/** struct timespec in milliseconds; a double holds microseconds of this century exactly. */
export function timespecMs(time: Buffer): number {
  return Number(time.readBigInt64LE(0)) * 1_000 + Number(time.readBigInt64LE(8)) / 1e6
}

/** The result of a system call; throws an error that names the call if it failed. */
export function checked(result: number, call: string): number {
  if (result < 0) throw new Error(`${call} failed`)
  return result
}
