import type { SocketAddress } from '../../../src/kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import { Talks } from './talks.ts'

/** Connections that are opened at the same time. */
const AT_ONCE = 32
const TIMEOUT_MS = 60_000
/** With more failures, the proxy is considered to refuse connections. */
const MAX_FAILURES = 1_000
const MAX_WAIT_MS = 100

export interface Holding {
  readonly sockets: readonly number[]
  readonly failures: number
}

/** Opens connections with one exchange each, so that the backend has them, too, and holds them. */
export function hold(sockets: Sockets, target: SocketAddress, count: number): Holding {
  const held = new Set<number>()
  const talks = new Talks(sockets, target, (socket) => held.add(socket))
  const until = performance.now() + TIMEOUT_MS
  const isHopeless = () => talks.failures > MAX_FAILURES || performance.now() > until
  while (held.size < count && !isHopeless()) {
    const most = Math.min(count, held.size + AT_ONCE)
    while (talks.size < most && talks.open());
    talks.wait(MAX_WAIT_MS)
  }
  talks.end(held)
  return { sockets: [...held], failures: talks.failures }
}
