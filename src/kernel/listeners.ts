import type { IpAddress } from '../lib/ip.ts'

/** Protocols whose sockets are listed. */
export type ListenerProtocol = 'TCP' | 'UDP' | 'SCTP'

/** A local socket that waits for clients. */
export interface Listener {
  readonly protocol: ListenerProtocol
  /** `0.0.0.0` or `::` stands for every address. */
  readonly ip: IpAddress
  readonly port: number
}

/** The ports on which processes of this network namespace listen. */
export interface Listeners {
  /** Every listening socket of TCP and SCTP and every bound one of UDP; empty where /proc/net cannot be read. */
  list(): readonly Listener[]
}
