import { NODE_LEASES } from '../../resources/names.ts'
import type { View } from '../cache/view.ts'
import type { NodeObject } from '../objects/node-object.ts'

/** How long a node may be silent: four heartbeats of ten seconds. */
export const GRACE_MS = 40_000

/** What is known of the life of a node. */
export interface Life {
  /** It was seen to send a heartbeat within the grace. */
  readonly isHeard: boolean
  /** A whole grace has passed in which we listened and heard nothing. */
  readonly isSilent: boolean
  /** When to ask again: it is silent then, if it is not heard of before. */
  readonly againMs: number
}

/**
 * Whether a node lives, by changes of its Lease or its status. Only our clock
 * counts, and only the time in which we listened (`since`): neither a clock that
 * is wrong nor an outage of the server makes a node silent. Undefined: it sends
 * no heartbeats.
 */
export function lifeOf(
  { meta, heartbeatAt }: NodeObject,
  view: View,
  { now, since }: { readonly now: number; readonly since: number },
): Life | undefined {
  const leaseKey = `${NODE_LEASES}/${meta.name}`
  const renewedAt = view.leases.get(leaseKey)?.renewedAt ?? ''
  if (renewedAt === '' && heartbeatAt === '') return undefined
  const heardAt = [view.leases.heardAt(leaseKey), view.nodes.heardAt(meta.key)]
    .filter((at) => at !== undefined)
    .filter((at) => at <= now)
  const silentMs = Math.max(0, now - Math.max(since, ...heardAt))
  const isHeard = heardAt.some((at) => now - at < GRACE_MS)
  return { isHeard, isSilent: silentMs >= GRACE_MS, againMs: GRACE_MS - silentMs }
}

/** The node whose Lease this is, if it is one of a node. */
export function nodeOfLease(key: string): readonly string[] {
  const [namespace, name = ''] = key.split('/')
  return namespace === NODE_LEASES ? [name] : []
}
