import { getSystemErrorName } from 'node:util'
import type { Logger } from '../logger.ts'

/** The system calls for one datagram: Node has no datagram sockets of the family unix(7). */
const SIGNATURES = {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  sendto: { arguments: ['i32', 'buffer', 'u64', 'i32', 'buffer', 'u32'], return: 'i64' },
  close: { arguments: ['i32'], return: 'i32' },
  __errno_location: { arguments: [], return: 'pointer' },
} as const

const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const MSG_NOSIGNAL = 0x4000
/** The size of `sun_path` in `struct sockaddr_un`. */
const MAX_PATH_BYTES = 108

export interface ServiceManagerOptions {
  readonly log: Pick<Logger, 'warn'>
  /** NOTIFY_SOCKET names the socket of the service manager. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Reports the state of this process to the service manager that started it: assignments such as `READY=1`, see
 * sd_notify(3). Does nothing without a service manager that waits for them. If they cannot be sent, that is logged:
 * systemd then ends the start when TimeoutStartSec= is over.
 */
export function notifyServiceManager(
  assignments: readonly string[],
  { log, env = process.env }: ServiceManagerOptions,
): void {
  const socket = env['NOTIFY_SOCKET']
  if (socket === undefined || socket === '') return
  const problem = send(socket, Buffer.from(assignments.join('\n')))
  if (problem === undefined) return
  log.warn({ socket, problem }, 'the service manager (NOTIFY_SOCKET) was not notified')
}

/** Sends a datagram to a socket. @returns why it was not sent */
function send(socket: string, message: Buffer): string | undefined {
  const address = addressOf(socket)
  if (address === undefined) {
    return `neither a path nor an abstract name (@…) of at most ${MAX_PATH_BYTES - 1} bytes`
  }
  try {
    const ffi = process.getBuiltinModule('node:ffi')
    const { functions: libc } = ffi.dlopen('libc.so.6', SIGNATURES)
    const failure = () => getSystemErrorName(-ffi.getInt32(libc.__errno_location(), 0))
    const fd = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
    if (fd < 0) return `socket: ${failure()}`
    const to = [address, address.length] as const
    const sent = libc.sendto(fd, message, BigInt(message.length), MSG_NOSIGNAL, ...to)
    const problem = sent < 0 ? `sendto: ${failure()}` : undefined
    libc.close(fd)
    return problem
  } catch (error) {
    return `this Node.js cannot make system calls: ${String(error)}`
  }
}

/** `struct sockaddr_un` of a path, or of an abstract name, which NOTIFY_SOCKET writes with a leading `@`. */
function addressOf(socket: string): Buffer | undefined {
  const isAbstract = socket.startsWith('@')
  if (!isAbstract && !socket.startsWith('/')) return undefined
  const name = isAbstract ? `\0${socket.slice(1)}` : `${socket}\0`
  const address = Buffer.from(`\0\0${name}`)
  if (address.length > 2 + MAX_PATH_BYTES) return undefined
  address.writeUInt16LE(AF_UNIX)
  return address
}
