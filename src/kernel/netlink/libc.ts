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
