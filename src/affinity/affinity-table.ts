import { type AffinityMemory, type Columns, openColumns } from './affinity-memory.ts'
import { ClientKey, groupOf, slotsOf } from './client-key.ts'
import { ClientSlots } from './client-slots.ts'
import { HEADER } from './layout.ts'
import { acquire, release } from './shard-lock.ts'

/** A client that is about to connect. Units as in `AffinityTable`; `seconds` is the timeout. */
export interface Claim {
  readonly group: number
  readonly client: Uint8Array
  readonly now: number
  readonly seconds: number
  /** The token that the caller found, which it keeps or replaces; undefined: none. */
  readonly instead: number | undefined
}

/**
 * The backend of each client's last connection, for all threads that open the same memory. A client
 * is an address (4 or 16 bytes) within a group (52 bits, the `contentHash` of an entry's id); a
 * backend is a token (31 bits); times are ms since the epoch.
 *
 * No method waits, allocates or sweeps: an expired client stays until it connects again or its slot
 * is needed. A full table evicts the least recently connected client of the new client's shard.
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

  /** The token of the client's backend, unless its last connection is `seconds` old. Renews nothing. */
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

  /** As `remember`, unless another thread stored another backend meanwhile; returns the stored token. */
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

  /** Stores the backend of `#key`, whose shard is locked; `known` is its slot, 0 if it has none. */
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
 * the future counts likewise: threads read the clock at different moments, and a clock that is set
 * back must not prolong affinity.
 */
function isFresh(last: number, now: number, seconds: number): boolean {
  return Math.abs(now - last) < seconds * 1000
}
