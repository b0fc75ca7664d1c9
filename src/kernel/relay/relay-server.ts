import type { Clock } from '../../lib/clock.ts'
import type { RelayAddress } from './relays.ts'

export interface RelayLimits {
  /** Milliseconds that the target may take to accept; a client waits no longer. */
  readonly connectMs: number
  /** TCP connections of one relay; further ones are reset. */
  readonly connections: number
  /** Milliseconds without a datagram after which a UDP client is forgotten. */
  readonly idleMs: number
  /** UDP clients of one relay; the one that was silent for longest is evicted. */
  readonly flows: number
}

export const RELAY_LIMITS: RelayLimits = {
  connectMs: 10_000,
  connections: 8192,
  idleMs: 30_000,
  flows: 4096,
}

export interface RelayEnvironment {
  readonly clock: Clock
  readonly limits: RelayLimits
}

/** One listening socket and what came in by it. */
export interface RelayServer {
  /** Connections that exist. */
  readonly connections: number
  /** Settles when it listens no more and its last connection ended. */
  readonly ended: Promise<void>
  retarget(target: RelayAddress): void
  /** Stops listening. */
  close(): void
  /** Stops listening and resets what is left. */
  reset(): void
}
