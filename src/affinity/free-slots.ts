import type { Columns } from './columns.ts'
import { SHARD, SHARD_WORDS } from './layout.ts'

/** Slots that hold nobody: those that were given back, then those that were never used. */
export class FreeSlots {
  readonly #columns: Columns

  constructor(columns: Columns) {
    this.#columns = columns
  }

  hasAny(shard: number): boolean {
    const { shards, layout } = this.#columns
    const at = shard * SHARD_WORDS
    return shards[at + SHARD.freed] !== 0 || shards[at + SHARD.used]! < layout.slotsPerShard
  }

  /** One of those that there are. */
  take(shard: number): number {
    const { shards, next, layout } = this.#columns
    const at = shard * SHARD_WORDS
    const freed = shards[at + SHARD.freed]!
    if (freed === 0) return shard * layout.slotsPerShard + ++shards[at + SHARD.used]!
    shards[at + SHARD.freed] = next[freed]!
    return freed
  }

  giveBack(shard: number, slot: number): void {
    const { shards, next } = this.#columns
    const freedAt = shard * SHARD_WORDS + SHARD.freed
    next[slot] = shards[freedAt]!
    shards[freedAt] = slot
  }
}
