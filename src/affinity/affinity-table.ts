import { type AffinityMemory, type Columns, openColumns } from './affinity-memory.ts'
import { ClientKey, groupOf, markEmpty, slotsOf } from './client-key.ts'
import { HEADER, SHARD, SHARD_WORDS } from './layout.ts'

const FREE = 0
const HELD = 1
/** The lock's holder did not release it for about a second: no thread waits for it any more. */
export const LOST = 2

/** Number of spins until a lock counts as lost: about a second. */
const MAX_SPINS = 2 ** 24

/** A client that is about to connect. Units as in `AffinityTable`; `seconds` is the timeout. */
export interface Claim {
  readonly group: number
  readonly client: Uint8Array
  readonly now: number
  readonly seconds: number
  /** The token that the caller found, which it keeps or replaces; undefined if it found none. */
  readonly instead: number | undefined
}

/**
 * The backend of each client's last connection, for all threads that open the same memory. A client
 * is an address (4 or 16 bytes) within a group (52 bits, the `contentHash` of an entry's id); a
 * backend is a token (31 bits); times are ms of a clock that all these threads share.
 *
 * `find`, `remember`, `claim` and `forget` allocate nothing, and wait only for the lock of a shard. No method searches for
 * expired clients: each stays until it connects again or its slot is needed. A full table evicts the least recently
 * connected client of the new client's shard.
 */
export class AffinityTable {
  readonly #columns: Columns
  readonly #slots: ClientSlots
  readonly #key: ClientKey
  readonly #spare: ClientKey

  constructor(memory: AffinityMemory) {
    this.#columns = openColumns(memory)
    this.#slots = new ClientSlots(this.#columns)
    this.#key = new ClientKey(this.#columns)
    this.#spare = new ClientKey(this.#columns)
  }

  get capacity(): number {
    return this.#columns.header[HEADER.capacity]!
  }

  /** Stored clients, expired ones included. */
  get size(): number {
    return Atomics.load(this.#columns.header, HEADER.size)
  }

  /** Clients evicted because the table was full; wraps at 2³². */
  get evicted(): number {
    return Atomics.load(this.#columns.header, HEADER.evicted) >>> 0
  }

  /** The token of the client's backend, unless its last connection is `seconds` old. Does not renew the timeout. */
  find(
    group: number,
    client: Uint8Array,
    when: { readonly now: number; readonly seconds: number },
  ): number | undefined {
    this.#key.set(group, client)
    const { shards, token } = this.#columns
    const { shard } = this.#key
    if (!acquire(shards, shard)) return undefined
    try {
      const slot = this.#slots.find(this.#key)
      if (slot === 0 || !isFresh(this.#lastAt(slot), when.now, when.seconds)) return undefined
      return token[slot]
    } finally {
      release(shards, shard)
    }
  }

  /** Stores the client's backend; its timeout starts at `now`. */
  remember(group: number, client: Uint8Array, token: number, now: number): void {
    this.#key.set(group, client)
    const { shards } = this.#columns
    const { shard } = this.#key
    if (!acquire(shards, shard)) return
    try {
      this.#write(this.#slots.find(this.#key), token, now)
    } finally {
      release(shards, shard)
    }
  }

  /** Like `remember`, unless another thread has stored another backend meanwhile; returns the stored token. */
  claim({ group, client, now, seconds, instead }: Claim, token: number): number {
    this.#key.set(group, client)
    const { shards, token: tokens } = this.#columns
    const { shard } = this.#key
    if (!acquire(shards, shard)) return token
    try {
      const slot = this.#slots.find(this.#key)
      const isKnown = slot !== 0 && isFresh(this.#lastAt(slot), now, seconds)
      const winner = isKnown && tokens[slot] !== instead ? tokens[slot]! : token
      this.#write(slot, winner, now)
      return winner
    } finally {
      release(shards, shard)
    }
  }

  forget(group: number, client: Uint8Array): void {
    this.#key.set(group, client)
    const { shards } = this.#columns
    const { shard } = this.#key
    if (!acquire(shards, shard)) return
    try {
      const slot = this.#slots.find(this.#key)
      if (slot !== 0) this.#slots.remove(this.#key, slot)
    } finally {
      release(shards, shard)
    }
  }

  /**
   * Forgets every client of these groups, whose entries lost their affinity or were deleted. Scans
   * the whole table once, some milliseconds per million clients, and holds a lock only while it
   * removes one client.
   */
  forgetGroups(groups: ReadonlySet<number>): void {
    for (const slot of slotsOf(this.#columns, groups)) this.#forgetSlot(slot, groups)
  }

  /** Stores the backend of `#key`, whose shard is locked; `known` is its slot, 0 if it has no slot. */
  #write(known: number, token: number, now: number): void {
    const { token: tokens, time, era } = this.#columns
    const slot = known === 0 ? this.#slots.admit(this.#key, this.#spare) : known
    if (known !== 0) this.#slots.renew(this.#key, slot)
    tokens[slot] = token
    time[slot] = now
    era[slot] = Math.floor(now / 2 ** 32)
  }

  #forgetSlot(slot: number, groups: ReadonlySet<number>): void {
    const { shards, layout } = this.#columns
    const shard = Math.floor((slot - 1) / layout.slotsPerShard)
    if (!acquire(shards, shard)) return
    try {
      if (!groups.has(groupOf(this.#columns, slot))) return
      this.#key.load(slot)
      this.#slots.remove(this.#key, slot)
    } finally {
      release(shards, shard)
    }
  }

  #lastAt(slot: number): number {
    const { time, era } = this.#columns
    return era[slot]! * 2 ** 32 + (time[slot]! >>> 0)
  }
}

/**
 * Whether affinity still holds: `last` and `now` (ms) are less than `seconds` apart. A connection in
 * the future counts likewise: threads read the clock at different moments.
 */
function isFresh(last: number, now: number, seconds: number): boolean {
  return Math.abs(now - last) < seconds * 1000
}

/**
 * Maps clients to slots. A used slot is in the chain of its bucket and in the recency list of its shard. The caller
 * holds the lock of the shard.
 */
class ClientSlots {
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

  /** The client's slot; 0 if the client is unknown. */
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

/**
 * Takes the lock of a shard by spinning, because a holder needs less than a microsecond. Returns false if the lock is
 * lost: the caller must then work without the shard. A thread that ends while it holds a lock never releases it; after
 * `MAX_SPINS` the lock counts as lost, and no thread waits for it again. If the holder was only slow, its release
 * makes the lock usable again.
 */
export function acquire(shards: Int32Array, shard: number): boolean {
  const at = shard * SHARD_WORDS + SHARD.lock
  for (let tries = 0; tries < MAX_SPINS; tries++) {
    const state = Atomics.compareExchange(shards, at, FREE, HELD)
    if (state === FREE) return true
    if (state === LOST) return false
    Atomics.pause()
  }
  Atomics.compareExchange(shards, at, HELD, LOST)
  return false
}

/** Releases the lock of a shard that this thread acquired. */
export function release(shards: Int32Array, shard: number): void {
  Atomics.store(shards, shard * SHARD_WORDS + SHARD.lock, FREE)
}

/** The slots of each bucket, a singly linked list. */
class HashChains {
  readonly #columns: Columns

  constructor(columns: Columns) {
    this.#columns = columns
  }

  /** The slot of the client; 0 if the client is unknown. */
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
class RecencyList {
  readonly #columns: Columns

  constructor(columns: Columns) {
    this.#columns = columns
  }

  /** The oldest slot of a shard; 0 if the shard is empty. */
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

/** The empty slots of each shard: first those that were released, then those that were never used. */
class FreeSlots {
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
