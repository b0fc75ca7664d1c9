import type { ForwardingEntry } from './entry.ts'

/** Entries whose traffic policy Local has no endpoint on this node while others exist. */
export interface NoLocalEndpoints {
  readonly internal: number
  readonly external: number
}

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
