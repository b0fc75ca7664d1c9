import { hostPort } from '../lib/ip.ts'
import type { Affinity, Backend, ForwardingEntry, Pool } from './entry.ts'

/** An entry as far as its clients stick to backends. */
export type StickyEntry = Pick<ForwardingEntry, 'id' | 'service' | 'family' | 'affinity'>

/**
 * Marks the entries of one Service that share their clients: in each family those that have the same Pods in
 * each pool, so that a client can go to one Pod whatever its port. An entry with other Pods keeps clients of its
 * own, as does one in which a Pod has two ports. The first entry that has Pods decides for those after it.
 */
export function shareAffinity(entries: readonly ForwardingEntry[]): readonly ForwardingEntry[] {
  const podsOf = new Map<string, string>()
  return entries.map((entry) => {
    const { affinity, family, pools } = entry
    if (affinity === undefined) return entry
    const wanted = (['cluster', 'local'] as const satisfies readonly Pool[]).flatMap((pool) =>
      pools[pool].length === 0 ? [] : [[`${family}/${pool}`, podsIn(pools[pool])] as const],
    )
    const fits = ([pool, pods]: readonly [string, string | undefined]) =>
      pods !== undefined && (podsOf.get(pool) ?? pods) === pods
    if (!wanted.every(fits)) return entry
    for (const [pool, pods] of wanted) if (pods !== undefined) podsOf.set(pool, pods)
    return { ...entry, affinity: { ...affinity, isShared: true } satisfies Affinity }
  })
}

/** By what an entry's clients are remembered: all entries with the same owner share them. */
export function clientsOwner({ id, service, family, affinity }: StickyEntry): string {
  return affinity?.isShared ? `${service}:${family}` : id
}

/** By what a backend is remembered: its address where clients are shared, since that is its Pod, else with its port. */
export function stickyTarget(
  { affinity }: Pick<StickyEntry, 'affinity'>,
  { ip, port }: Pick<Backend, 'ip' | 'port'>,
): string {
  return affinity?.isShared ? ip : hostPort(ip, port)
}

/** The Pods of a pool as one text, which says of each whether it gets new clients; undefined: one has two ports. */
function podsIn(backends: readonly Backend[]): string | undefined {
  const pods = new Set(backends.map(({ ip }) => ip))
  if (pods.size < backends.length) return undefined
  return backends.map(({ ip, weight }) => (weight > 0 ? ip : `${ip} without new clients`)).join()
}
