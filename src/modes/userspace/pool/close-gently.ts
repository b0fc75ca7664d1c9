import { setTimeout as delay } from 'node:timers/promises'
import { holdClients } from '../../../kernel/sockets/hold-clients.ts'
import type { Syscalls } from '../../../kernel/sockets/syscalls.ts'

/** Milliseconds that a handshake under way may take; the kernel repeats its answer after a second. */
const HANDSHAKE_MS = 300

/**
 * Lets listening TCP sockets run empty while workers go on accepting: further clients wait for the
 * next process, those whose handshake is under way are still let in. Resolves when the sockets
 * may be closed.
 */
export async function closeGently(
  sys: Syscalls,
  listeners: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  if (listeners.length === 0 || signal.aborted) return
  for (const listener of listeners) holdClients(sys, listener)
  await delay(HANDSHAKE_MS, undefined, { signal }).catch(() => undefined)
}
