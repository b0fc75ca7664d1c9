import type { ForwardingEntry } from './entry.ts'

/** Entries with traffic policy Local and no endpoint on this node, while other nodes have endpoints. */
export interface NoLocalEndpoints {
  readonly internal: number
  readonly external: number
}

/** Counts such entries by the policy that is Local: internal (ClusterIP) or external (all other kinds). */
export function countNoLocalEndpoints(entries: Iterable<ForwardingEntry>): NoLocalEndpoints {
  let internal = 0
  let external = 0
  for (const { frontends, pools, whenEmpty } of entries) {
    if (pools.local.length > 0 || whenEmpty.local !== 'drop') continue
    const local = frontends.filter((frontend) => frontend.pool === 'local')
    if (local.some((frontend) => frontend.kind === 'clusterIP')) internal++
    if (local.some((frontend) => frontend.kind !== 'clusterIP')) external++
  }
  return { internal, external }
}
