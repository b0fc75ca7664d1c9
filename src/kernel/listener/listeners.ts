import type { IpAddress } from '../../lib/ip.ts'

export type ListenerProtocol = 'TCP' | 'UDP' | 'SCTP'

/** A local socket that waits for clients. */
export interface Listener {
  readonly protocol: ListenerProtocol
  /** `0.0.0.0` or `::`: every address. */
  readonly ip: IpAddress
  readonly port: number
}

/** Which ports local processes of this network namespace serve. */
export interface Listeners {
  list(): readonly Listener[]
}
