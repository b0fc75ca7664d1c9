import type { EntryId } from '../../forwarding/entry.ts'
import type { Family } from '../../lib/ip.ts'
import type { PortRange } from '../../lib/port-range.ts'
import type { KernelError, Traffic } from '../mode.ts'
import type { Route, Side } from './route.ts'

/**
 * `native`: sockets by system calls, bytes by splice(2) without a copy into this process;
 * `javascript`: Node's own sockets.
 */
export type DataPath = 'native' | 'javascript'

/** The local TCP and UDP port at which redirected packets of one side arrive. */
export type EntryPorts = Readonly<Record<Side, number>>

/** The data path: workers that move the bytes, and what is known of them. */
export interface Forwarder extends Traffic {
  readonly dataPath: DataPath
  /** Where redirected packets are to be sent; empty when it listens at the listeners themselves. */
  readonly ports: ReadonlyMap<Family, EntryPorts>
  /**
   * Sends it to every worker; undefined takes a route away. Connections of routes that changed or
   * went keep their backends while these drain. Resolves once every worker serves accordingly,
   * to the routes that cannot be served, as when a listener's address is taken. Before the first call
   * redirected clients wait.
   */
  apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>>
  /**
   * Serves on until no client is left, another process serves in its place, or the signal comes. At
   * listeners clients that come now are waited for, too: no queue holds them for the next process.
   */
  untilIdle(signal: AbortSignal): Promise<void>
  /**
   * Listens no more, but serves whom the kernel has let in; ends UDP flows, and resolves when
   * the last connection has ended or the signal comes.
   */
  drain(signal: AbortSignal): Promise<void>
  /** Resets what is left and ends the workers. */
  close(): Promise<void>
}

export interface ForwarderLimits {
  /** TCP connections and UDP flows of all workers together. */
  readonly connections: number
  /** Those of one client: an IPv4 address, or a /64 of IPv6. */
  readonly perClient: number
  /** Milliseconds that one backend may take to accept. */
  readonly connectMs: number
  /** Milliseconds after which no further backend is tried for a client. */
  readonly retryMs: number
  /** Backends that are tried for one client. */
  readonly attempts: number
  /** Milliseconds without a byte after which a TCP connection is ended; 0: never. */
  readonly idleMs: number
  /** Milliseconds without a datagram after which a UDP client is forgotten. */
  readonly udpIdleMs: number
  /** Milliseconds that connections may stay with a backend that left, if the route does not say. */
  readonly drainMs: number
  /** Clients that affinity remembers; beyond them the one that came last the longest ago goes. */
  readonly affinityClients: number
}

export interface ForwarderOptions {
  readonly dataPath: DataPath
  readonly workers: number
  /** How packets come in: redirected to one port for all Services, or at each listener's own address. */
  readonly listening: 'transparent' | 'bound'
  readonly families: readonly Family[]
  /** Where redirected packets may arrive; undefined: at the usual ports, or any that are free. */
  readonly portRange?: PortRange | undefined
  readonly limits: ForwarderLimits
  /** Of packets to backends, by which rules know them (SO_MARK); 0: none. */
  readonly mark: number
  /** A worker ended by itself, and its connections with it: the process cannot go on. */
  readonly onLost: (error: Error) => void
}

export type OpenForwarder = (options: ForwarderOptions) => Promise<Forwarder>
