import type { AffinityMemory } from './affinity-memory.ts'
import { ClientKey } from './client-key.ts'
import { ClientSlots } from './client-slots.ts'
import { type Columns, openColumns } from './columns.ts'
import { groupOf, slotsOf } from './group-slots.ts'
import { HEADER } from './layout.ts'
import { acquire, release } from './shard-lock.ts'
import { isFresh } from './timeout.ts'

/** Who asks for a backend, and when. */
export interface Claim {
  readonly group: number
  readonly client: Uint8Array
  readonly now: number
  readonly seconds: number
  /** The backend that it is known to have, and gives up or keeps; undefined: none. */
  readonly instead: number | undefined
}

/**
 * Which backend each client was connected to last, for all threads that open the
 * same memory. A client is an address (4 or 16 bytes) within a group (52 bits,
 * the `contentHash` of an entry's id); a backend is a token (31 bits); times are
 * ms since the epoch.
 *
 * Nothing here waits, allocates or sweeps: a client whose time-out is over stays
 * until it comes again or its place is needed. When the table is full, the
 * client that connected the longest ago goes, of those in the newcomer's shard.
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

  /** Clients that are remembered, however long ago they came. */
  get size(): number {
    return Atomics.load(this.#columns.header, HEADER.size)
  }

  /** Clients that had to go because the table was full; wraps at 2³². */
  get evicted(): number {
    return Atomics.load(this.#columns.header, HEADER.evicted) >>> 0
  }

  /** The client's backend, unless its last connection is `seconds` old. Renews nothing. */
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

  /** The client goes to the backend; its time-out runs from `now`. */
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

  /** As `remember`, unless the client has another backend by now; returns the one that it has. */
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
   * Forgets every client of these groups: their affinity was switched off, or they are gone.
   * Goes through the whole table once, some milliseconds per million clients, and
   * holds a lock only while it removes one of them.
   */
  forgetGroups(groups: ReadonlySet<number>): void {
    for (const slot of slotsOf(this.#columns, groups)) this.#forgetSlot(slot, groups)
  }

  /** Of the client of `#key`, whose shard is locked; `known` is its slot, 0 if it has none. */
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
