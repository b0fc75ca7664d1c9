import type { Columns } from './affinity-memory.ts'
import { type HashKey, halfSipHash } from './half-sip-hash.ts'
import { HEADER, SHARD, SHARD_WORDS } from './layout.ts'

const GROUP_BITS = 2 ** 20 - 1
const IPV4 = 1 << 20
const IPV6 = 2 << 20

/**
 * The key of a lookup: a client of a group, as three words (IPv4) or six (IPv6), with the shard and
 * the bucket that hold such a client. One instance is refilled for each lookup, so that no lookup
 * allocates.
 *
 *     0  the last four bytes of the address     1  the low 32 bits of the group
 *     2  the high 20 bits, with the family      3–5  the first twelve bytes (IPv6)
 *
 * Word 2 of a client is never 0: a slot where it is 0 is empty.
 */
export class ClientKey {
  readonly #columns: Columns
  readonly #seed: HashKey
  readonly #words = new Int32Array(6)
  #count = 3
  shard = 0
  bucket = 0

  constructor(columns: Columns) {
    this.#columns = columns
    this.#seed = [columns.header[HEADER.keyLow]!, columns.header[HEADER.keyHigh]!]
  }

  /**
   * `group`: 52 bits. `client`: 4 or 16 bytes, in network byte order.
   * @throws TypeError for any other length
   */
  set(group: number, client: Uint8Array): void {
    const words = this.#words
    const isV6 = client.length === 16
    if (!isV6 && client.length !== 4) throw new TypeError(`an address of ${client.length} bytes`)
    this.#count = isV6 ? 6 : 3
    words[0] = wordAt(client, client.length - 4)
    words[1] = group
    words[2] = Math.floor(group / 2 ** 32) | (isV6 ? IPV6 : IPV4)
    if (isV6) for (let word = 0; word < 3; word++) words[3 + word] = wordAt(client, 4 * word)
    this.#place()
  }

  /** Takes the key of the client in `slot`. */
  load(slot: number): void {
    const { key } = this.#columns
    this.#count = (key[2]![slot]! & IPV6) === 0 ? 3 : 6
    for (let word = 0; word < this.#count; word++) this.#words[word] = key[word]![slot]!
    this.#place()
  }

  store(slot: number): void {
    const { key } = this.#columns
    for (let word = 0; word < this.#count; word++) key[word]![slot] = this.#words[word]!
  }

  isIn(slot: number): boolean {
    const { key } = this.#columns
    for (let word = 0; word < this.#count; word++) {
      if (key[word]![slot] !== this.#words[word]) return false
    }
    return true
  }

  #place(): void {
    const { shards, bucketsPerShard } = this.#columns.layout
    const hash = halfSipHash(this.#words, this.#count, this.#seed)
    this.shard = (hash >>> 26) & (shards - 1)
    this.bucket = this.shard * bucketsPerShard + (hash & (bucketsPerShard - 1))
  }
}

/** Marks the slot as empty. */
export function markEmpty({ key }: Columns, slot: number): void {
  key[2]![slot] = 0
}

/** Candidate slots of the groups' clients, read without a lock: check each again under its shard's lock. */
export function* slotsOf(columns: Columns, groups: ReadonlySet<number>): Generator<number> {
  const { layout, shards } = columns
  for (let shard = 0; shard < layout.shards; shard++) {
    const first = shard * layout.slotsPerShard + 1
    const end = first + Atomics.load(shards, shard * SHARD_WORDS + SHARD.used)
    for (let slot = first; slot < end; slot++) if (groups.has(groupOf(columns, slot))) yield slot
  }
}

/** The group of a slot's client, -1 for an empty slot. Exact only under the shard's lock. */
export function groupOf({ key }: Columns, slot: number): number {
  const high = key[2]![slot]!
  return high === 0 ? -1 : (high & GROUP_BITS) * 2 ** 32 + (key[1]![slot]! >>> 0)
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
}
