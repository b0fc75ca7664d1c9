import type { ClientKey } from './client-key.ts'
import type { Columns } from './columns.ts'

/** The slots of each bucket, singly linked. */
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
