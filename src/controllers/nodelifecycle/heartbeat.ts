import { NODE_LEASES } from '../../resources/names.ts'
import type { NodeObject } from '../objects/node-object.ts'
import type { View } from '../objects/view.ts'

/**
 * When the node was last heard of, by its Lease or its status, in milliseconds
 * since the epoch; undefined: never.
 */
export function lastHeartbeat({ meta, ready }: NodeObject, view: View): number | undefined {
  const lease = view.leases.get(`${NODE_LEASES}/${meta.name}`)
  const times = [lease?.renewedAt ?? '', ready.heartbeatAt].map((text) => Date.parse(text))
  const known = times.filter((time) => !Number.isNaN(time))
  return known.length === 0 ? undefined : Math.max(...known)
}

/** The node whose Lease this is, if it is one of a node. */
export function nodeOfLease(key: string): readonly string[] {
  const [namespace, name = ''] = key.split('/')
  return namespace === NODE_LEASES ? [name] : []
}
