import { createCipheriv } from 'node:crypto'
import type { Socket } from 'node:net'

const POOL_BYTES = 1 << 24
export const HEADER_BYTES = 16

/** The start of each direction: who sends it, and which part of the pool follows. */
export interface Opening {
  /** The number of a backend, or of a client's round. */
  readonly who: number
  readonly serial: number
  readonly offset: number
  readonly length: number
}

/** Pseudo-random bytes, the same in every process: both ends of a conversation know them. */
export function createPool(): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(
    Buffer.alloc(POOL_BYTES),
  )
}

/** What one end sends: the opening, and the bytes that it announces. */
export function wordsOf(pool: Buffer, opening: Opening): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const { who, serial, offset, length } = opening
  for (const [index, field] of [who, serial, offset, length].entries()) {
    header.writeUInt32BE(field, index * 4)
  }
  return Buffer.concat([header, pool.subarray(offset, offset + length)])
}

/** The number of positions in the pool at which a direction of this length may begin. */
export function offsetsFor(length: number): number {
  return POOL_BYTES - length
}

/** Sends words. Resolves when the kernel has accepted them, or never will. */
export function say(socket: Socket, words: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(words, () => resolve())
  })
}
