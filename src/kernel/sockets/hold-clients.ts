import type { Syscalls } from './syscalls.ts'

/** Constants of asm-generic/socket.h. */
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** The offset in bytes of the flags in a TCP header, and two of the flags. */
const FLAGS_AT = 13
const SYN = 0x02
const ACK = 0x10
/** A filter returns how many bytes of the packet to keep. This is more than any packet has. */
const ALL_BYTES = 0x4_0000

/**
 * The filter, as `struct sock_filter` of linux/filter.h: the code, how many instructions to skip if the comparison is
 * true and if it is false, and the operand. The filter gets a packet from its TCP header on.
 */
const PROGRAM: readonly (readonly [code: number, jt: number, jf: number, operand: number])[] = [
  [0x30, 0, 0, FLAGS_AT], // BPF_LD | BPF_B | BPF_ABS: load the byte with the flags
  [0x54, 0, 0, SYN | ACK], // BPF_ALU | BPF_AND | BPF_K: clear all flags but these two
  [0x15, 0, 1, SYN], // BPF_JMP | BPF_JEQ | BPF_K: skip one instruction unless SYN alone is left
  [0x06, 0, 0, 0], // BPF_RET | BPF_K: drop the packet
  [0x06, 0, 0, ALL_BYTES], // BPF_RET | BPF_K: accept the packet
]
/** The size of `struct sock_filter`. */
const INSTRUCTION_BYTES = 8
/** The size of `struct sock_fprog`: the number of instructions, and a pointer to the first. */
const HEADER_BYTES = 16

/**
 * Makes a listening TCP socket drop the SYN of each further client, by a classic BPF filter. The client repeats the
 * SYN a second later, and the socket that then listens on the port gets it. Handshakes that have begun are completed.
 * Returns false if the kernel refused the filter, as some kernels do for an unprivileged process.
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
