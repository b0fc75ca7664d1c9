import { NODE_LEASES } from '../../resources/names.ts'
import type { View } from '../cache/object-cache.ts'
import type { NodeObject } from '../objects/node-object.ts'

/** How long a node may send no heartbeat before it counts as silent; it sends one every ten seconds. */
export const SILENCE_MS = 40_000

/** Whether a node sends heartbeats. */
export interface Liveness {
  /** A heartbeat was seen within the last `SILENCE_MS`. */
  readonly isHeard: boolean
  /** No heartbeat was seen for `SILENCE_MS` during which every watch was open. */
  readonly isSilent: boolean
  /** Milliseconds after which the node counts as silent if it sends no heartbeat until then. */
  readonly againMs: number
}

/**
 * Whether a node sends heartbeats, by changes of its Lease or its status. Only the clock of this replica
 * counts, and only the time since its watches were opened (`since`), so neither a wrong clock of the node nor
 * an outage of the server makes a node silent. `now` and `since` are in milliseconds since the epoch.
 * Undefined: the node never sends heartbeats.
 */
export function livenessOf(
  { meta, heartbeatAt }: NodeObject,
  view: View,
  { now, since }: { readonly now: number; readonly since: number },
): Liveness | undefined {
  const leaseKey = `${NODE_LEASES}/${meta.name}`
  const renewedAt = view.leases.get(leaseKey)?.renewedAt ?? ''
  if (renewedAt === '' && heartbeatAt === '') return undefined
  const heardAt = [view.leases.heardAt(leaseKey), view.nodes.heardAt(meta.key)]
    .filter((at) => at !== undefined)
    .filter((at) => at <= now)
  const silentMs = Math.max(0, now - Math.max(since, ...heardAt))
  const isHeard = heardAt.some((at) => now - at < SILENCE_MS)
  return { isHeard, isSilent: silentMs >= SILENCE_MS, againMs: SILENCE_MS - silentMs }
}

/** Keys of the Nodes that a Lease concerns: the one of its name, if it is in the namespace of node leases. */
export function nodeOfLease(key: string): readonly string[] {
  const [namespace, name = ''] = key.split('/')
  return namespace === NODE_LEASES ? [name] : []
}
