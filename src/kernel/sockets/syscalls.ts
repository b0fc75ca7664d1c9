import { getSystemErrorName } from 'node:util'

/**
 * The system calls of sockets, pipes and epoll, as the C library of this machine exports them. Sizes and results
 * are declared with 32 bits, because `i64` costs a BigInt per call and no call here moves 2 GiB.
 * Pointers are addresses within a `NativeMemory`, or null.
 */
const SIGNATURES = {
  accept4: { arguments: ['i32', 'pointer', 'pointer', 'i32'], return: 'i32' },
  bind: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  close: { arguments: ['i32'], return: 'i32' },
  connect: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  epoll_create1: { arguments: ['i32'], return: 'i32' },
  epoll_ctl: { arguments: ['i32', 'i32', 'i32', 'pointer'], return: 'i32' },
  epoll_wait: { arguments: ['i32', 'pointer', 'i32', 'i32'], return: 'i32' },
  eventfd: { arguments: ['u32', 'i32'], return: 'i32' },
  fcntl: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  getsockname: { arguments: ['i32', 'pointer', 'pointer'], return: 'i32' },
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'pointer', 'pointer'], return: 'i32' },
  ioctl: { arguments: ['i32', 'u32', 'pointer'], return: 'i32' },
  listen: { arguments: ['i32', 'i32'], return: 'i32' },
  pipe2: { arguments: ['pointer', 'i32'], return: 'i32' },
  read: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  recv: { arguments: ['i32', 'pointer', 'u32', 'i32'], return: 'i32' },
  recvmmsg: { arguments: ['i32', 'pointer', 'u32', 'i32', 'pointer'], return: 'i32' },
  recvmsg: { arguments: ['i32', 'pointer', 'i32'], return: 'i32' },
  send: { arguments: ['i32', 'pointer', 'u32', 'i32'], return: 'i32' },
  sendmmsg: { arguments: ['i32', 'pointer', 'u32', 'i32'], return: 'i32' },
  sendmsg: { arguments: ['i32', 'pointer', 'i32'], return: 'i32' },
  sendto: { arguments: ['i32', 'pointer', 'u32', 'i32', 'pointer', 'u32'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'pointer', 'u32'], return: 'i32' },
  shutdown: { arguments: ['i32', 'i32'], return: 'i32' },
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  splice: { arguments: ['i32', 'pointer', 'i32', 'pointer', 'u32', 'u32'], return: 'i32' },
  write: { arguments: ['i32', 'pointer', 'u32'], return: 'i32' },
  __errno_location: { arguments: [], return: 'pointer' },
} as const

/** Memory for system calls to read and write. It never moves. `bytes` and `view` cover all of it. */
export interface NativeMemory {
  readonly bytes: Buffer
  readonly view: DataView
  /** The address of the first byte. */
  readonly address: bigint
}

/** The system calls, as `openSyscalls` returns them. */
export type Syscalls = NonNullable<ReturnType<typeof openSyscalls>>

/**
 * Loads the system calls for the calling thread, whose `errno` they set. Undefined if Node has no foreign function
 * interface, or the machine has no `libc.so.6`.
 */
export function openSyscalls() {
  try {
    const ffi = process.getBuiltinModule('node:ffi')
    const { functions } = ffi.dlopen('libc.so.6', SIGNATURES)
    const { __errno_location: errnoLocation, ...calls } = functions
    const location = errnoLocation()
    return {
      ...calls,
      /** The error number of the last call that returned -1. */
      errno: (): number => ffi.getInt32(location, 0),
      /** Zeroed memory of `size` bytes. */
      allocate(size: number): NativeMemory {
        const bytes = Buffer.from(new ArrayBuffer(size))
        const view = new DataView(bytes.buffer, bytes.byteOffset, size)
        return { bytes, view, address: ffi.getRawPointer(bytes) }
      },
    }
  } catch {
    return undefined
  }
}

/** The name of an error number: `EADDRINUSE` for 98. */
export function errnoName(errno: number): string {
  return errno > 0 ? getSystemErrorName(-errno) : 'unknown error'
}
