import { OPTION, SOCK } from '../sockets/constants.ts'
import { openSyscalls, type Syscalls } from '../sockets/syscalls.ts'
import type { LockHolder } from './owner-lock.ts'

const AF_UNIX = 1
/** Offsets in the memory: a sockaddr_un, the length of the result, and a struct ucred. */
const AT = { address: 0, length: 112, credentials: 116 } as const
const SIZE = 128
const CREDENTIALS_BYTES = 12

/** Who listens at an abstract name, by SO_PEERCRED; undefined without a listener or without SO_PEERCRED. */
export function holderOf(name: string): LockHolder | undefined {
  const sys = openSyscalls()
  if (sys === undefined) return undefined
  const socket = sys.socket(AF_UNIX, SOCK.stream | SOCK.nonBlocking | SOCK.closeOnExec, 0)
  if (socket === -1) return undefined
  try {
    return credentialsOf(sys, socket, name)
  } finally {
    sys.close(socket)
  }
}

function credentialsOf(sys: Syscalls, socket: number, name: string): LockHolder | undefined {
  const { address, bytes, view } = sys.allocate(SIZE)
  view.setUint16(AT.address, AF_UNIX, true)
  const length = 3 + bytes.write(`\0${name}`, AT.address + 2, 'utf8') - 1
  if (sys.connect(socket, address, length) !== 0) return undefined
  view.setUint32(AT.length, CREDENTIALS_BYTES, true)
  const [level, option] = OPTION.peerCredentials
  const at = (offset: number) => address + BigInt(offset)
  if (sys.getsockopt(socket, level, option, at(AT.credentials), at(AT.length)) !== 0) {
    return undefined
  }
  const pid = view.getInt32(AT.credentials, true)
  return { pid, uid: view.getUint32(AT.credentials + 4, true) }
}
