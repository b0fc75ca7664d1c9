import type { Syscalls } from './syscalls.ts'

/** asm-generic/socket.h */
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** The offset of the flags in a TCP header, and two of the flags. */
const FLAGS_AT = 13
const SYN = 0x02
const ACK = 0x10
/** The number of bytes of a packet that the filter keeps: more than any packet has. */
const ALL_BYTES = 0x4_0000

/** `struct sock_filter` of linux/filter.h: code, jumps if true and if false, operand. */
const PROGRAM: readonly (readonly [code: number, jt: number, jf: number, operand: number])[] = [
  [0x30, 0, 0, FLAGS_AT], // load the byte with the flags
  [0x54, 0, 0, SYN | ACK], // keep these two
  [0x15, 0, 1, SYN], // skip one instruction unless SYN is set, and ACK is not
  [0x06, 0, 0, 0], // drop the packet
  [0x06, 0, 0, ALL_BYTES], // accept the packet
]
const INSTRUCTION_BYTES = 8
/** `struct sock_fprog`: the number of instructions, and a pointer to the first. */
const HEADER_BYTES = 16

/**
 * Makes a listening TCP socket drop the SYN of each further client, by a classic BPF filter. The client repeats the
 * SYN a second later, and the socket that then listens gets it. Handshakes that have begun are completed. Returns
 * false if the kernel refused the filter, as some kernels do for an unprivileged process.
 */
export function holdClients(sys: Syscalls, listener: number): boolean {
  const { view, address } = sys.allocate(HEADER_BYTES + PROGRAM.length * INSTRUCTION_BYTES)
  view.setUint16(0, PROGRAM.length, true)
  view.setBigUint64(8, address + BigInt(HEADER_BYTES), true)
  for (const [index, [code, jt, jf, operand]] of PROGRAM.entries()) {
    const at = HEADER_BYTES + index * INSTRUCTION_BYTES
    view.setUint16(at, code, true)
    view.setUint8(at + 2, jt)
    view.setUint8(at + 3, jf)
    view.setUint32(at + 4, operand, true)
  }
  return sys.setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, address, HEADER_BYTES) === 0
}
