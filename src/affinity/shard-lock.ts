import { SHARD, SHARD_WORDS } from './layout.ts'

const FREE = 0
const HELD = 1
/** Given up: nobody waits for it. */
export const LOST = 2

/** Tries until a lock is given up: about a second. */
const PATIENCE = 2 ** 24

/**
 * Takes the lock of a shard by spinning: whoever holds it needs less than a
 * microsecond. False: do without the shard. A thread that ends while it holds a
 * lock never gives it back, so after a long wait the lock counts as lost, and
 * nobody waits for it again. If its holder was only slow, its release heals it.
 */
export function acquire(shards: Int32Array, shard: number): boolean {
  const at = shard * SHARD_WORDS + SHARD.lock
  for (let tries = 0; tries < PATIENCE; tries++) {
    const state = Atomics.compareExchange(shards, at, FREE, HELD)
    if (state === FREE) return true
    if (state === LOST) return false
    Atomics.pause()
  }
  Atomics.compareExchange(shards, at, HELD, LOST)
  return false
}

export function release(shards: Int32Array, shard: number): void {
  Atomics.store(shards, shard * SHARD_WORDS + SHARD.lock, FREE)
}
