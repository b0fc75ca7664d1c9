import { createCipheriv } from 'node:crypto'
import type { Socket } from 'node:net'

const POOL_BYTES = 1 << 24
export const HEADER_BYTES = 16

/** What is said at the start of each direction: who says it, and which part of the pool follows. */
export interface Opening {
  /** A backend, or a client's round. */
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

/** What one end says: the opening, and the bytes that it announces. */
export function wordsOf(pool: Buffer, opening: Opening): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const { who, serial, offset, length } = opening
  for (const [index, field] of [who, serial, offset, length].entries()) {
    header.writeUInt32BE(field, index * 4)
  }
  return Buffer.concat([header, pool.subarray(offset, offset + length)])
}

/** Where a direction of so many bytes may begin. */
export function offsetsFor(length: number): number {
  return POOL_BYTES - length
}

/** Resolves when the kernel has taken it, or never will. */
export function say(socket: Socket, words: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(words, () => resolve())
  })
}
