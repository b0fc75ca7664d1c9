import type { AffinityMemory } from './affinity-memory.ts'
import { COLUMN, HEADER, type Layout, layoutOf, SHARD_WORDS } from './layout.ts'

/** Views of the memory of a table. Every word is 0 at first: nobody, nothing, none. */
export interface Columns {
  readonly layout: Layout
  readonly header: Int32Array
  readonly shards: Int32Array
  /** The first slot of each bucket. */
  readonly buckets: Int32Array
  /** These are by slot. */
  readonly key: readonly Int32Array[]
  readonly token: Int32Array
  readonly time: Int32Array
  readonly era: Int32Array
  readonly next: Int32Array
  readonly newer: Int32Array
  readonly older: Int32Array
}

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
