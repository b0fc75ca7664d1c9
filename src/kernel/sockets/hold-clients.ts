import { ALL_BYTES, attachFilter, BPF, type FilterInstruction } from './packet-filter.ts'
import type { Syscalls } from './syscalls.ts'

/** The offset in bytes of the flags in a TCP header, and two of the flags. */
const FLAGS_AT = 13
const SYN = 0x02
const ACK = 0x10

/** Drops a packet with SYN and without ACK. The filter gets a packet from its TCP header on. */
const PROGRAM: readonly FilterInstruction[] = [
  [BPF.loadByte, 0, 0, FLAGS_AT],
  [BPF.and, 0, 0, SYN | ACK],
  [BPF.jumpIfEqual, 0, 1, SYN],
  [BPF.return, 0, 0, 0],
  [BPF.return, 0, 0, ALL_BYTES],
]

/**
 * Makes a listening TCP socket drop the SYN of each further client, by a classic BPF filter. The client repeats the
 * SYN a second later, and the socket that then listens on the port gets it. Handshakes that have begun are completed.
 * Returns false if the kernel refused the filter, as some kernels do for an unprivileged process.
 */
export function holdClients(sys: Syscalls, listener: number): boolean {
  return attachFilter(sys, listener, PROGRAM)
}
