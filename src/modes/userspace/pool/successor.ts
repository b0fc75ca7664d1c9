import type { Listener, Listeners } from '../../../kernel/listener/listeners.ts'
import { type ListenerAddress, listenerKey } from '../worker/listener-address.ts'

/** Milliseconds without a new client after which one that listens for its Services may end. */
export const QUIET_MS = 1_000

/** Open listeners by `listenerKey`, and how many sockets this process has at each. */
export type OpenListener = ReadonlyMap<string, number>

/**
 * Returns whether another process listens at each of these listeners: only one of the same user can, by
 * SO_REUSEPORT, and it opens a listener when it serves it.
 */
export function successorCheck(own: () => OpenListener, listeners: Listeners): () => boolean {
  return () => {
    const mine = own()
    if (mine.size === 0) return false
    const all = count(listeners.list())
    return [...mine].every(([key, sockets]) => (all.get(key) ?? 0) > sockets)
  }
}

function count(listeners: readonly Listener[]): OpenListener {
  const counts = new Map<string, number>()
  for (const { protocol, ip, port } of listeners) {
    if (protocol === 'SCTP') continue
    const at: ListenerAddress = { protocol, ip, port }
    counts.set(listenerKey(at), (counts.get(listenerKey(at)) ?? 0) + 1)
  }
  return counts
}
