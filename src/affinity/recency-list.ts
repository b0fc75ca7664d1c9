import type { Columns } from './columns.ts'
import { SHARD, SHARD_WORDS } from './layout.ts'

/** The slots of each shard in the order of their last connections. */
export class RecencyList {
  readonly #columns: Columns

  constructor(columns: Columns) {
    this.#columns = columns
  }

  /** 0: the shard is empty. */
  oldest(shard: number): number {
    return this.#columns.shards[shard * SHARD_WORDS + SHARD.oldest]!
  }

  addNewest(shard: number, slot: number): void {
    const { shards, newer, older } = this.#columns
    const newestAt = shard * SHARD_WORDS + SHARD.newest
    const before = shards[newestAt]!
    older[slot] = before
    newer[slot] = 0
    if (before === 0) shards[shard * SHARD_WORDS + SHARD.oldest] = slot
    else newer[before] = slot
    shards[newestAt] = slot
  }

  remove(shard: number, slot: number): void {
    const { shards, newer, older } = this.#columns
    const after = newer[slot]!
    const before = older[slot]!
    if (after === 0) shards[shard * SHARD_WORDS + SHARD.newest] = before
    else older[after] = before
    if (before === 0) shards[shard * SHARD_WORDS + SHARD.oldest] = after
    else newer[before] = after
  }
}
