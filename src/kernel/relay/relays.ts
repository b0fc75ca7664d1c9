import { hostPort, type IpAddress } from '../../lib/ip.ts'

export type RelayProtocol = 'TCP' | 'UDP'

export interface RelayAddress {
  readonly ip: IpAddress
  readonly port: number
}

/** Clients of `listen` are connected to `target`, which sees a connection from this node. */
export interface Relay {
  readonly protocol: RelayProtocol
  readonly listen: RelayAddress
  readonly target: RelayAddress
}

export interface RelayRefusal {
  readonly code: 'NP_KERNEL_RELAY'
  /** Which address, and why: one line. */
  readonly message: string
}

/**
 * Forwards connections in this process, for the addresses that the kernel does
 * not forward: ip_vs sends no packet with a source in 127.0.0.0/8 to another
 * host. Operations take effect in the order in which they were requested.
 */
export interface Relays {
  /**
   * Starts it. Where it listens already, only the target changes: TCP connections
   * that exist keep theirs, UDP clients move with their next datagram. Resolves to
   * the reason when the address cannot be listened on, undefined when it listens.
   */
  open(relay: Relay): Promise<RelayRefusal | undefined>
  /** Stops listening. TCP connections go on until they end; UDP flows end. */
  close(protocol: RelayProtocol, listen: RelayAddress): Promise<void>
  /** What listens, in the order of opening. */
  list(): readonly Relay[]
  /** TCP connections and UDP flows that exist, those of closed relays included. */
  connections(): number
  /** Stops listening everywhere and resets the connections that are left. */
  closeAll(): Promise<void>
}

/** `tcp/127.0.0.1:30080`: equal for relays that cannot both listen. */
export function relayKey(protocol: RelayProtocol, listen: RelayAddress): string {
  return `${protocol.toLowerCase()}/${hostPort(listen.ip, listen.port)}`
}
