import type { EntryId } from '../../forwarding/entry.ts'
import type { Family } from '../../lib/ip.ts'
import type { PortRange } from '../../lib/port-range.ts'
import type { KernelError, Traffic } from '../mode.ts'
import type { RouteTraffic } from './read-traffic.ts'
import type { Route, Side } from './route.ts'

/**
 * `native`: sockets by system calls, bytes by splice(2) without a copy into this process;
 * `javascript`: Node's own sockets.
 */
export type DataPath = 'native' | 'javascript'

/** The local TCP and UDP port at which redirected packets of one side arrive. */
export type RedirectPorts = Readonly<Record<Side, number>>

/** The ports of a forwarder, for the rules of each family. */
export type PortsByFamily = ReadonlyMap<Family, RedirectPorts>

/**
 * The data path: worker threads that move the bytes, their routes and their counters. None of this can be read back
 * from the kernel.
 */
export interface Forwarder extends Traffic {
  readonly dataPath: DataPath
  /** Ports to which rules must translate redirected packets; empty with `bound` listeners. */
  readonly ports: PortsByFamily
  /**
   * Gives routes to every worker; undefined removes one. Connections of routes that changed or were removed keep their
   * backends while these drain. Resolves once every worker has adopted the change, to the routes with a listener that
   * cannot be opened, for example because its address is taken; their other listeners are served, until the route is
   * removed. Redirected clients wait until the first call.
   */
  apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>>
  /** The counts of each worker for each route that had a connection. */
  routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]>
  /**
   * Continues to serve until no client is left, another process serves instead, or the signal is aborted. With bound
   * listeners it also waits for new clients, because no queue keeps them for the next process.
   */
  untilIdle(signal: AbortSignal): Promise<void>
  /**
   * Stops listening, but serves clients whose connection the kernel has accepted; ends UDP flows. Resolves when the
   * last connection has ended or the signal is aborted.
   */
  drain(signal: AbortSignal): Promise<void>
  /** Resets the remaining connections and ends the workers. */
  close(): Promise<void>
}

/** Bounds and timeouts of a forwarder, from `userspace.*` of the configuration. */
export interface ForwarderLimits {
  /** TCP connections and UDP flows of all workers together. */
  readonly connections: number
  /** The same for one client: an IPv4 address, or a /64 of IPv6. */
  readonly perClient: number
  /** Milliseconds that one backend may take to accept. */
  readonly connectMs: number
  /** Milliseconds after which no further backend is tried for a client. */
  readonly retryMs: number
  /** The maximum number of backends that are tried for one client. */
  readonly attempts: number
  /** Milliseconds without a byte after which a TCP connection is closed; 0: never. */
  readonly idleMs: number
  /** Milliseconds without a datagram after which a UDP client is forgotten. */
  readonly udpIdleMs: number
  /** Milliseconds that connections may stay with a backend after it was removed. */
  readonly drainMs: number
  /** Clients that affinity remembers; beyond that number the least recently seen one is forgotten. */
  readonly affinityClients: number
}

/** The options for opening a forwarder; they do not change until it is closed. */
export interface ForwarderOptions {
  readonly dataPath: DataPath
  readonly workers: number
  /** How packets arrive: redirected to one port for all Services, or at each listener's own address. */
  readonly listening: 'transparent' | 'bound'
  readonly families: readonly Family[]
  /** Ports for redirected packets; undefined means the usual ports, or any free ones. */
  readonly portRange?: PortRange | undefined
  readonly limits: ForwarderLimits
  /** SO_MARK of packets to backends, by which the rules recognise them; 0: none. */
  readonly mark: number
  /** Called when a worker has ended by itself, and its connections with it: the process cannot continue. */
  readonly onLost: (error: Error) => void
}

/** Rejects with NP_KERNEL_SOCKET or NP_USERSPACE_DATA_PATH; see `pool/open-forwarder.ts`. */
export type OpenForwarder = (options: ForwarderOptions) => Promise<Forwarder>
