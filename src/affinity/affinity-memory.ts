import type { Random } from '../lib/random.ts'
import { HEADER, layoutOf } from './layout.ts'

/** The memory of one table: goes to worker threads as it is, and is one memory in all of them. */
export type AffinityMemory = SharedArrayBuffer

const MOST_CLIENTS = 2 ** 24

/**
 * An empty table for `capacity` clients, 1 to 16,777,216. It has 64 bytes of
 * address space for each at most, and takes them from the system as they are used.
 */
export function createAffinityMemory(
  capacity: number,
  random: Pick<Random, 'below'>,
): AffinityMemory {
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > MOST_CLIENTS) {
    throw new RangeError(`capacity must be an integer from 1 to ${MOST_CLIENTS}: ${capacity}`)
  }
  const memory = new SharedArrayBuffer(layoutOf(capacity).words * Int32Array.BYTES_PER_ELEMENT)
  const words = new Int32Array(memory)
  words[HEADER.capacity] = capacity
  words[HEADER.keyLow] = random.below(2 ** 32)
  words[HEADER.keyHigh] = random.below(2 ** 32)
  return memory
}
