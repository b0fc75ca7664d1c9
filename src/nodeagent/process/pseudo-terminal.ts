import { closeSync, constants, openSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import type { TerminalSize } from '../../streams/node-streams.ts'

/** A pseudo-terminal, one end of which belongs to a process. */
export interface PseudoTerminal {
  /** What the process reads and writes; close it when the process has it. */
  readonly processEnd: number
  /** The other end: what the user types and sees. It ends when no process has the process end open. */
  readonly stream: ReadStream
  resize(size: TerminalSize): void
}

const SIGNATURES = {
  posix_openpt: { arguments: ['i32'], return: 'i32' },
  grantpt: { arguments: ['i32'], return: 'i32' },
  unlockpt: { arguments: ['i32'], return: 'i32' },
  ptsname_r: { arguments: ['i32', 'buffer', 'u64'], return: 'i32' },
  ioctl: { arguments: ['i32', 'u64', 'buffer'], return: 'i32' },
} as const

/** `TIOCSWINSZ` of Linux on x86-64 and arm64. */
const SET_SIZE = 0x5414
const CLOSE_ON_EXEC = 0o2000000
const NAME_BYTES = 64

/** Undefined: Node has no foreign function interface, or the machine has an unsupported C library. */
export function openPseudoTerminal(): PseudoTerminal | undefined {
  const libc = openLibc()
  if (libc === undefined) return undefined
  const { O_RDWR, O_NOCTTY } = constants
  const fd = libc.posix_openpt(O_RDWR | O_NOCTTY | CLOSE_ON_EXEC)
  if (fd < 0) return undefined
  const name = Buffer.alloc(NAME_BYTES)
  const isReady =
    libc.grantpt(fd) === 0 &&
    libc.unlockpt(fd) === 0 &&
    libc.ptsname_r(fd, name, BigInt(NAME_BYTES)) === 0
  if (!isReady) {
    closeSync(fd)
    return undefined
  }
  const processEnd = openSync(name.toString('latin1', 0, name.indexOf(0)), O_RDWR | O_NOCTTY)
  return {
    processEnd,
    stream: new ReadStream(fd),
    resize: ({ width, height }) => {
      const size = Buffer.alloc(8)
      size.writeUInt16LE(height, 0)
      size.writeUInt16LE(width, 2)
      libc.ioctl(processEnd, BigInt(SET_SIZE), size)
    },
  }
}

function openLibc() {
  try {
    return process.getBuiltinModule('node:ffi').dlopen('libc.so.6', SIGNATURES).functions
  } catch {
    return undefined
  }
}
