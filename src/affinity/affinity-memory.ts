import type { Random } from '../lib/random.ts'
import { COLUMN, HEADER, type Layout, layoutOf, SHARD_WORDS } from './layout.ts'

/** The memory of one table, shared by every thread that it is sent to. */
export type AffinityMemory = SharedArrayBuffer

const MAX_CLIENTS = 2 ** 24

/**
 * An empty table for `capacity` clients, 1 to 16,777,216. It reserves at most 64 bytes of address
 * space for each; the kernel allocates pages as they are used.
 * @throws RangeError for any other capacity
 */
export function createAffinityMemory(
  capacity: number,
  random: Pick<Random, 'below'>,
): AffinityMemory {
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > MAX_CLIENTS) {
    throw new RangeError(`capacity must be an integer from 1 to ${MAX_CLIENTS}: ${capacity}`)
  }
  const memory = new SharedArrayBuffer(layoutOf(capacity).words * Int32Array.BYTES_PER_ELEMENT)
  const words = new Int32Array(memory)
  words[HEADER.capacity] = capacity
  words[HEADER.keyLow] = random.below(2 ** 32)
  words[HEADER.keyHigh] = random.below(2 ** 32)
  return memory
}

/** Views of the memory of a table. Every word is 0 at first: no client, no token, no link. */
export interface Columns {
  readonly layout: Layout
  readonly header: Int32Array
  readonly shards: Int32Array
  /** The first slot of each bucket. */
  readonly buckets: Int32Array
  /** One word for each slot, as are the columns below. */
  readonly key: readonly Int32Array[]
  readonly token: Int32Array
  readonly time: Int32Array
  readonly era: Int32Array
  readonly next: Int32Array
  readonly newer: Int32Array
  readonly older: Int32Array
}

/** Opens the memory in this thread. */
export function openColumns(memory: AffinityMemory): Columns {
  const header = new Int32Array(memory)
  const layout = layoutOf(header[HEADER.capacity]!)
  const { shards, shardsAt, bucketsPerShard, bucketsAt, columnsAt, columnWords } = layout
  const view = (at: number, words: number) => new Int32Array(memory, at * 4, words)
  const column = (index: number) => view(columnsAt + index * columnWords, columnWords)
  return {
    layout,
    header,
    shards: view(shardsAt, shards * SHARD_WORDS),
    buckets: view(bucketsAt, shards * bucketsPerShard),
    key: [0, 1, 2, 3, 4, 5].map((word) => column(COLUMN.key + word)),
    token: column(COLUMN.token),
    time: column(COLUMN.time),
    era: column(COLUMN.era),
    next: column(COLUMN.next),
    newer: column(COLUMN.newer),
    older: column(COLUMN.older),
  }
}
