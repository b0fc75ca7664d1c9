import type { VirtualServer } from '../../../kernel/ipvs/ipvs.ts'
import type { ObjectKey } from '../../mode.ts'
import { serverKey } from '../objects/object.ts'

/** Usual are 0.01 to 0.03 ms. */
const SLOW_MS_PER_COMMAND = 0.1

/** Whether `commands` took `ms` milliseconds, so long that the kernel must be searching, see `inOrderOfDeletion`. */
export function isSearching(ms: number, commands: number): boolean {
  return commands > 0 && ms / commands > SLOW_MS_PER_COMMAND
}

/**
 * Real servers of which thousands were deleted lately, for example by a flush, are on a
 * list of the kernel for two minutes, newest first, and each addition searches
 * it from its start. A flush deletes in the order in which virtual servers are
 * listed: so the last of the list come first, and every search ends at once.
 * Otherwise adding 100,000 real servers after a flush takes minutes, not a second.
 * The kernel's list is `dest_trash` of net/netfilter/ipvs/ip_vs_ctl.c.
 */
export function inOrderOfDeletion(
  keys: readonly ObjectKey[],
  listed: readonly VirtualServer[],
): readonly ObjectKey[] {
  const places = new Map(listed.map(({ id }, place) => [serverKey(id), place]))
  return keys.toSorted((a, b) => (places.get(b) ?? -1) - (places.get(a) ?? -1))
}
