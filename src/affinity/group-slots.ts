import type { Columns } from './columns.ts'
import { SHARD, SHARD_WORDS } from './layout.ts'

const GROUP_BITS = 2 ** 20 - 1

/** Slots that seem to hold clients of the groups: other threads may be changing them. */
export function* slotsOf(columns: Columns, groups: ReadonlySet<number>): Generator<number> {
  const { layout, shards } = columns
  for (let shard = 0; shard < layout.shards; shard++) {
    const first = shard * layout.slotsPerShard + 1
    const end = first + Atomics.load(shards, shard * SHARD_WORDS + SHARD.used)
    for (let slot = first; slot < end; slot++) if (groups.has(groupOf(columns, slot))) yield slot
  }
}

/** The group of a slot's client, -1 if there is none; certain for who holds the shard's lock. */
export function groupOf({ key }: Columns, slot: number): number {
  const high = key[2]![slot]!
  return high === 0 ? -1 : (high & GROUP_BITS) * 2 ** 32 + (key[1]![slot]! >>> 0)
}
