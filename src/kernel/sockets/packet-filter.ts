import type { Syscalls } from './syscalls.ts'

/** Constants of asm-generic/socket.h. */
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** The size of `struct sock_filter`. */
const INSTRUCTION_BYTES = 8
/** The size of `struct sock_fprog`: the number of instructions, and a pointer to the first. */
const HEADER_BYTES = 16

/**
 * An instruction of a classic BPF filter, as `struct sock_filter` of linux/filter.h: the code, how many instructions to
 * skip if the comparison is true and if it is false (0 to 255), and the operand.
 */
export type FilterInstruction = readonly [code: number, jt: number, jf: number, operand: number]

/** Codes of instructions: BPF_LD of a word, half-word or byte (BPF_ABS); BPF_ALU; BPF_JMP; BPF_RET. */
export const BPF = {
  loadWord: 0x20,
  loadHalf: 0x28,
  loadByte: 0x30,
  and: 0x54,
  jumpIfEqual: 0x15,
  jumpIfAtLeast: 0x35,
  return: 0x06,
} as const

/** What a filter returns to keep a packet as a whole: more bytes than any packet has. To drop it, it returns 0. */
export const ALL_BYTES = 0x4_0000

/** Makes a socket drop the packets that a filter drops, in place of an earlier one. Returns false on failure. */
export function attachFilter(
  sys: Syscalls,
  socket: number,
  program: readonly FilterInstruction[],
): boolean {
  const { view, address } = sys.allocate(HEADER_BYTES + program.length * INSTRUCTION_BYTES)
  view.setUint16(0, program.length, true)
  view.setBigUint64(8, address + BigInt(HEADER_BYTES), true)
  for (const [index, [code, jt, jf, operand]] of program.entries()) {
    const at = HEADER_BYTES + index * INSTRUCTION_BYTES
    view.setUint16(at, code, true)
    view.setUint8(at + 2, jt)
    view.setUint8(at + 3, jf)
    view.setUint32(at + 4, operand, true)
  }
  return sys.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, address, HEADER_BYTES) === 0
}
