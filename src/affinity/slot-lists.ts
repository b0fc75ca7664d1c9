import type { Columns } from './affinity-memory.ts'
import type { ClientKey } from './client-key.ts'
import { SHARD, SHARD_WORDS } from './layout.ts'

/** The slots of each bucket, a singly linked list. */
export class HashChains {
  readonly #columns: Columns

  constructor(columns: Columns) {
    this.#columns = columns
  }

  /** The slot of the client; 0: unknown. */
  find(client: ClientKey): number {
    const { buckets, next } = this.#columns
    let slot = buckets[client.bucket]!
    while (slot !== 0 && !client.isIn(slot)) slot = next[slot]!
    return slot
  }

  add(bucket: number, slot: number): void {
    const { buckets, next } = this.#columns
    next[slot] = buckets[bucket]!
    buckets[bucket] = slot
  }

  remove(bucket: number, slot: number): void {
    const { buckets, next } = this.#columns
    let before = buckets[bucket]!
    if (before === slot) {
      buckets[bucket] = next[slot]!
      return
    }
    while (next[before] !== slot) before = next[before]!
    next[before] = next[slot]!
  }
}

/** The slots of each shard in the order of their last connections, a doubly linked list. */
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

/** The empty slots of each shard: first those that were freed, then those that were never used. */
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

  /** An empty slot; the caller has checked `hasAny`. */
  take(shard: number): number {
    const { shards, next, layout } = this.#columns
    const at = shard * SHARD_WORDS
    const freed = shards[at + SHARD.freed]!
    if (freed === 0) return shard * layout.slotsPerShard + ++shards[at + SHARD.used]!
    shards[at + SHARD.freed] = next[freed]!
    return freed
  }

  free(shard: number, slot: number): void {
    const { shards, next } = this.#columns
    const freedAt = shard * SHARD_WORDS + SHARD.freed
    next[slot] = shards[freedAt]!
    shards[freedAt] = slot
  }
}
