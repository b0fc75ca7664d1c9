import type { Listener, Listeners } from '../../../kernel/listeners.ts'
import { type ListenerAddress, listenerKey } from '../worker/route-table.ts'

/** Milliseconds without a new client after which a forwarder with bound listeners may end. */
export const QUIET_MS = 1_000

/** Number of listening sockets by `listenerKey`. */
export type SocketCounts = ReadonlyMap<string, number>

/**
 * Returns a function that checks whether another process also listens at each of these listeners, that is, whether the
 * listener has more sockets than `ownSockets` counts. SO_REUSEPORT allows this only to processes of the same user.
 */
export function successorCheck(
  ownSockets: () => SocketCounts,
  listeners: Listeners,
): () => boolean {
  return () => {
    const mine = ownSockets()
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
