import type { Random } from '../../lib/random.ts'
import type { StoredEntry, StoreEvent } from '../../storage/store.ts'
import type { Follower } from '../cache/feed.ts'

/** Smaller ranges have no static band; larger ones have a band of at least this size. */
const MIN_SIZE = 16

/** The static band of ClusterIPs (KEP-3070). */
export const ADDRESS_BAND: BandLimits = { step: 16, most: 256 }

/** The static band of node ports (KEP-3668). */
export const PORT_BAND: BandLimits = { step: 32, most: 128 }

/** Random guesses before a pool is searched in order. */
const GUESSES = 16

/**
 * The allocation keys that are taken, as far as this process has seen. It only helps to choose a free key: the
 * transaction that stores an object decides.
 */
export class AllocationPool implements Follower {
  readonly #taken = new Set<string>()
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  load(entries: readonly StoredEntry[]): void {
    this.#taken.clear()
    for (const entry of entries) this.#taken.add(entry.key)
  }

  apply(event: StoreEvent): void {
    if (event.entry === undefined) this.#taken.delete(event.key)
    else this.#taken.add(event.key)
  }

  /** Remembers that a key turned out to be taken. */
  note(key: string): void {
    this.#taken.add(key)
  }

  isFree(key: string): boolean {
    return !this.#taken.has(key)
  }

  /**
   * A random index in [0, size) whose key is free; undefined when there is none. The first `band` indexes,
   * which are reserved for explicit requests of clients, are used only when no other is free.
   */
  choose(size: number, isFree: (index: number) => boolean, band = 0): number | undefined {
    return this.#search(band, size, isFree) ?? this.#search(0, band, isFree)
  }

  #search(first: number, end: number, isFree: (index: number) => boolean): number | undefined {
    const size = end - first
    for (let guess = 0; size > 0 && guess < GUESSES; guess++) {
      const index = first + this.#random.below(size)
      if (isFree(index)) return index
    }
    const start = size > 0 ? this.#random.below(size) : 0
    for (let step = 0; step < size; step++) {
      const index = first + ((start + step) % size)
      if (isFree(index)) return index
    }
    return undefined
  }
}

/** The size of the part of a range that is reserved for clients that name an address or port. */
interface BandLimits {
  readonly step: number
  readonly most: number
}

/**
 * The size of the lower part of a range that is allocated automatically only when the rest is full, so that an
 * address or port that a client names is likely to be free.
 */
export function staticBand(size: number, { step, most }: BandLimits): number {
  return size < MIN_SIZE ? 0 : Math.min(Math.max(MIN_SIZE, Math.floor(size / step)), most)
}
