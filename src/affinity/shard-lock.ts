import { SHARD, SHARD_WORDS } from './layout.ts'

const FREE = 0
const HELD = 1
/** Its holder did not release it for about a second: no thread waits for it. */
export const LOST = 2

/** Spins until a lock counts as lost: about a second. */
const MAX_SPINS = 2 ** 24

/**
 * Takes the lock of a shard by spinning: a holder needs less than a microsecond. False: the lock is
 * lost, and the caller must work without the shard. A thread that ends inside a lock never releases
 * it; after `MAX_SPINS` the lock counts as lost, and no thread waits for it again. The release of a
 * holder that was only slow makes it usable again.
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
