import { getRawPointer } from 'node:ffi'
import { checked, libc } from '../lab/libc.ts'
import { TARGET_PORT } from '../lab/plan.ts'

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** linux/filter.h: loads of a byte and two, of four times the length of the IP header, beyond that header. */
const [BYTE, HEADER, BYTE_BEYOND, TWO_BEYOND] = [0x30, 0xb1, 0x50, 0x48]
const [AND, EQUALS, RETURN] = [0x54, 0x15, 0x06]
const [SYN, SYN_ACK, ACK, ALL] = [0x02, 0x12, 0x10, 0x1f]
const TCP = 6
const WHOLE = 0xffff

/** Loads the flags of a TCP segment; for another packet, jumps over `rest` instructions. */
function flags(rest: number): readonly Instruction[] {
  return [
    [BYTE, 0, 0, 9],
    [EQUALS, 0, rest + 3, TCP],
    [HEADER, 0, 0, 0],
    [BYTE_BEYOND, 0, 0, 13],
    [AND, 0, 0, ALL],
  ]
}

const END: readonly Instruction[] = [
  [RETURN, 0, 0, 0],
  [RETURN, 0, 0, WHOLE],
]

/** Filters for the packets of a socket. Without them, a reader would fall behind on a busy machine. */
export const FILTERS = {
  /** First packets. */
  sender: [...flags(1), [EQUALS, 1, 0, SYN], ...END],
  /** First packets, their answers, and what endpoints send without data. */
  endpoints: [
    ...flags(5),
    [EQUALS, 5, 0, SYN],
    [EQUALS, 4, 0, SYN_ACK],
    [EQUALS, 0, 2, ACK],
    [TWO_BEYOND, 0, 0, 0],
    [EQUALS, 1, 0, TARGET_PORT],
    ...END,
  ],
} as const satisfies Readonly<Record<string, readonly Instruction[]>>

/** Attaches a filter to a socket that receives packets from their IPv4 header on. */
export function attachFilter(socket: number, program: readonly Instruction[]): void {
  const instructions = Buffer.alloc(program.length * 8)
  for (const [n, [code, ifTrue, ifFalse, value]] of program.entries()) {
    instructions.writeUInt16LE(code, n * 8)
    instructions.writeUInt8(ifTrue, n * 8 + 2)
    instructions.writeUInt8(ifFalse, n * 8 + 3)
    instructions.writeUInt32LE(value, n * 8 + 4)
  }
  const filter = Buffer.alloc(16)
  filter.writeUInt16LE(program.length)
  filter.writeBigUInt64LE(getRawPointer(instructions), 8)
  const attached = libc.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, filter, filter.length)
  checked(attached, 'filter of packets')
}
