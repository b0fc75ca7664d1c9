/** Indices of the 32-bit words before the shards. The counters (`size`, `evicted`) have a cache line of their own. */
export const HEADER = { capacity: 0, keyLow: 1, keyHigh: 2, size: 16, evicted: 17 } as const
const HEADER_WORDS = 32

/**
 * Indices of the words of one shard, which fills a cache line. `used` is the number of slots that were taken at least
 * once. `freed`, `newest` and `oldest` are slots: `freed` is the first in the list of released ones.
 */
export const SHARD = { lock: 0, used: 1, freed: 2, newest: 3, oldest: 4 } as const
export const SHARD_WORDS = 16

/** The numbers of the columns. Each client has one word in each column. */
export const COLUMN = {
  /** Six columns, see `ClientKey`. */
  key: 0,
  token: 6,
  /** The last connection in ms: `time` is its low 32 bits, `era` is how often they wrapped. */
  time: 7,
  era: 8,
  /** The next slot in the bucket, or in the list of released slots. */
  next: 9,
  /** The neighbours in the list of the shard's clients by last connection. */
  newer: 10,
  older: 11,
} as const
const COLUMNS = 12

const MAX_SHARDS = 64
const MIN_CLIENTS_PER_SHARD = 4096

/** The offsets of all parts, in 32-bit words. Slots are numbered from 1; 0 means no slot. */
export interface Layout {
  readonly shards: number
  readonly slotsPerShard: number
  /** A power of two. */
  readonly bucketsPerShard: number
  readonly shardsAt: number
  readonly bucketsAt: number
  readonly columnsAt: number
  /** The number of words of one column: one for each slot, and one for the unused number 0. */
  readonly columnWords: number
  readonly words: number
}

/**
 * Shards let threads work in parallel. The hash gives some shards more clients than others, so each
 * shard has slots for six standard deviations beyond its share. Unused slots cost no memory: their
 * pages are never touched.
 */
export function layoutOf(capacity: number): Layout {
  const shards = Math.min(powerOfTwoUpTo(capacity / MIN_CLIENTS_PER_SHARD), MAX_SHARDS)
  const share = Math.ceil(capacity / shards)
  const slotsPerShard = shards === 1 ? share : share + Math.ceil(6 * Math.sqrt(share))
  const bucketsPerShard = 2 * powerOfTwoUpTo(share - 1)
  const bucketsAt = HEADER_WORDS + shards * SHARD_WORDS
  const columnsAt = bucketsAt + shards * bucketsPerShard
  const columnWords = shards * slotsPerShard + 1
  return {
    shards,
    slotsPerShard,
    bucketsPerShard,
    shardsAt: HEADER_WORDS,
    bucketsAt,
    columnsAt,
    columnWords,
    words: columnsAt + COLUMNS * columnWords,
  }
}

/** The largest power of two up to a limit, at least 1. */
function powerOfTwoUpTo(limit: number): number {
  return 2 ** Math.max(Math.floor(Math.log2(limit)), 0)
}
