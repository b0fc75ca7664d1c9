import { hostPort } from '../lib/ip.ts'
import type { Affinity, Backend, ForwardingEntry, Pool } from './entry.ts'

/** The fields of an entry that determine how clients stick to backends. */
export type StickyEntry = Pick<ForwardingEntry, 'id' | 'service' | 'family' | 'affinity'>

/**
 * Marks the entries of one Service that share their clients: in each family those with the same Pods in each pool, so
 * that a client can use one Pod for all ports. An entry with other Pods has its own clients, and so has one in which a
 * Pod has two ports. The first entry with Pods determines which Pods the others must have.
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

/** The name under which an entry's clients are remembered; entries with the same name share them. */
export function clientsOwner({ id, service, family, affinity }: StickyEntry): string {
  return affinity?.isShared ? `${service}:${family}` : id
}

/**
 * The text by which a backend is remembered: its address if clients are shared (this identifies the Pod), else address
 * and port.
 */
export function stickyTarget(
  { affinity }: Pick<StickyEntry, 'affinity'>,
  { ip, port }: Pick<Backend, 'ip' | 'port'>,
): string {
  return affinity?.isShared ? ip : hostPort(ip, port)
}

/** The Pods of a pool as one text, which includes whether each gets new clients; undefined if a Pod has two ports. */
function podsIn(backends: readonly Backend[]): string | undefined {
  const pods = new Set(backends.map(({ ip }) => ip))
  if (pods.size < backends.length) return undefined
  return backends.map(({ ip, weight }) => (weight > 0 ? ip : `${ip} without new clients`)).join()
}
