import type { Syscalls } from './syscalls.ts'

/** asm-generic/socket.h */
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** Where the flags are in a TCP header, and two of them. */
const FLAGS_AT = 13
const SYN = 0x02
const ACK = 0x10
/** More than any packet has. */
const WHOLE = 0x4_0000

/** `struct sock_filter` of linux/filter.h: code, jumps if true and if false, operand. */
const PROGRAM: readonly (readonly [code: number, yes: number, no: number, operand: number])[] = [
  [0x30, 0, 0, FLAGS_AT], // load the byte
  [0x54, 0, 0, SYN | ACK], // and
  [0x15, 0, 1, SYN], // is it equal?
  [0x06, 0, 0, 0], // drop
  [0x06, 0, 0, WHOLE], // accept
]
const INSTRUCTION_BYTES = 8
/** `struct sock_fprog`: length, pointer. */
const HEADER_BYTES = 16

/**
 * Makes a listening TCP socket drop the first packet of each further client (a classic BPF filter).
 * The client repeats it a second later, to whichever socket listens then. Handshakes under way are
 * completed. False: the kernel refused, as some do for a process without rights.
 */
export function holdClients(sys: Syscalls, listener: number): boolean {
  const { view, address } = sys.allocate(HEADER_BYTES + PROGRAM.length * INSTRUCTION_BYTES)
  view.setUint16(0, PROGRAM.length, true)
  view.setBigUint64(8, address + BigInt(HEADER_BYTES), true)
  for (const [index, [code, yes, no, operand]] of PROGRAM.entries()) {
    const at = HEADER_BYTES + index * INSTRUCTION_BYTES
    view.setUint16(at, code, true)
    view.setUint8(at + 2, yes)
    view.setUint8(at + 3, no)
    view.setUint32(at + 4, operand, true)
  }
  return sys.setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, address, HEADER_BYTES) === 0
}
