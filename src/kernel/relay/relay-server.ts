import type { Clock } from '../../lib/clock.ts'
import type { RelayAddress } from './relays.ts'

export interface RelayLimits {
  /** Milliseconds that the target may take to accept a connection. */
  readonly connectMs: number
  /** TCP connections of one relay; further ones are reset. */
  readonly connections: number
  /** Milliseconds without a datagram after which a UDP client is forgotten. */
  readonly idleMs: number
  /** UDP clients of one relay; at the limit the one that was silent for longest is evicted. */
  readonly flows: number
}

/** The limits of the daemon; tests use smaller ones. */
export const RELAY_LIMITS: RelayLimits = {
  connectMs: 10_000,
  connections: 8192,
  idleMs: 30_000,
  flows: 4096,
}

/** What all relays of one process share. */
export interface RelayEnvironment {
  readonly clock: Clock
  readonly limits: RelayLimits
}

/** One listening socket, and the connections or flows that it accepted. */
export interface RelayServer {
  /** The number of existing connections. */
  readonly connections: number
  /** Settles when the socket is closed and the last connection has ended. */
  readonly ended: Promise<void>
  /** Sets the target of new connections, and of the next datagrams of UDP clients. */
  retarget(target: RelayAddress): void
  /** Stops listening. */
  close(): void
  /** Stops listening, and resets the remaining connections. */
  reset(): void
}
