import type { Listener, Listeners } from '../../../kernel/listeners.ts'
import { type ListenerAddress, listenerKey } from '../worker/route-table.ts'

/** Milliseconds without a new client after which a forwarder with bound listeners may end. */
export const QUIET_MS = 1_000

/** Number of listening sockets by `listenerKey`. */
export type SocketCounts = ReadonlyMap<string, number>

/**
 * Returns a check whether another process listens at each of these listeners too, that is, whether it
 * has more sockets than `own`. By SO_REUSEPORT only a process of the same user can.
 */
export function successorCheck(own: () => SocketCounts, listeners: Listeners): () => boolean {
  return () => {
    const mine = own()
    if (mine.size === 0) return false
    const all = count(listeners.list())
    return [...mine].every(([key, sockets]) => (all.get(key) ?? 0) > sockets)
  }
}

function count(listeners: readonly Listener[]): SocketCounts {
  const counts = new Map<string, number>()
  for (const { protocol, ip, port } of listeners) {
    if (protocol === 'SCTP') continue
    const at: ListenerAddress = { protocol, ip, port }
    counts.set(listenerKey(at), (counts.get(listenerKey(at)) ?? 0) + 1)
  }
  return counts
}
