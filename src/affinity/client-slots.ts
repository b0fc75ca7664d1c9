import type { Columns } from './affinity-memory.ts'
import { type ClientKey, markEmpty } from './client-key.ts'
import { HEADER } from './layout.ts'
import { FreeSlots, HashChains, RecencyList } from './slot-lists.ts'

/**
 * Which client is in which slot. A used slot is in the chain of its bucket and in the recency list of
 * its shard. The caller holds the lock of the shard.
 */
export class ClientSlots {
  readonly #columns: Columns
  readonly #free: FreeSlots
  readonly #chains: HashChains
  readonly #recency: RecencyList

  constructor(columns: Columns) {
    this.#columns = columns
    this.#free = new FreeSlots(columns)
    this.#chains = new HashChains(columns)
    this.#recency = new RecencyList(columns)
  }

  /** The client's slot; 0: unknown. */
  find(client: ClientKey): number {
    return this.#chains.find(client)
  }

  /** Assigns a slot to an unknown client; a full table or shard evicts its oldest client. */
  admit(client: ClientKey, spare: ClientKey): number {
    const { header } = this.#columns
    const isFull = Atomics.add(header, HEADER.size, 1) >= header[HEADER.capacity]!
    if (isFull || !this.#free.hasAny(client.shard)) this.#evict(client.shard, spare)
    const slot = this.#free.take(client.shard)
    client.store(slot)
    this.#chains.add(client.bucket, slot)
    this.#recency.addNewest(client.shard, slot)
    return slot
  }

  /** Makes the slot the newest of its shard. */
  renew({ shard }: ClientKey, slot: number): void {
    this.#recency.remove(shard, slot)
    this.#recency.addNewest(shard, slot)
  }

  remove(client: ClientKey, slot: number): void {
    this.#chains.remove(client.bucket, slot)
    this.#recency.remove(client.shard, slot)
    markEmpty(this.#columns, slot)
    this.#free.free(client.shard, slot)
    Atomics.sub(this.#columns.header, HEADER.size, 1)
  }

  #evict(shard: number, spare: ClientKey): void {
    const slot = this.#recency.oldest(shard)
    if (slot === 0) return
    spare.load(slot)
    this.remove(spare, slot)
    Atomics.add(this.#columns.header, HEADER.evicted, 1)
  }
}
