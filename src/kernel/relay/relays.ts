import { hostPort, type IpAddress } from '../../lib/ip.ts'

/** The protocols that relays forward. */
export type RelayProtocol = 'TCP' | 'UDP'

/** Address and port of a listening socket or of a target. */
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

/** Why a relay could not listen. */
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
   * Starts a relay. If one already listens at the address, only its target changes: existing TCP connections keep the
   * old target, UDP clients get the new one with their next datagram. Resolves to undefined if the relay listens, else
   * to the reason why it cannot.
   */
  open(relay: Relay): Promise<RelayRefusal | undefined>
  /** Stops listening. TCP connections go on until they end; UDP flows end. */
  close(protocol: RelayProtocol, listen: RelayAddress): Promise<void>
  /** The relays that listen, in the order in which they were opened. */
  list(): readonly Relay[]
  /** The number of existing TCP connections and UDP flows, including those of closed relays. */
  connections(): number
  /** Stops listening everywhere and resets the remaining connections. */
  closeAll(): Promise<void>
}

/** `tcp/127.0.0.1:30080`: equal for relays that cannot both listen. */
export function relayKey(protocol: RelayProtocol, listen: RelayAddress): string {
  return `${protocol.toLowerCase()}/${hostPort(listen.ip, listen.port)}`
}

/** For a process that only reads the kernel: no relay listens. */
export const noRelays: Relays = {
  open: async () => undefined,
  close: async () => {},
  list: () => [],
  connections: () => 0,
  closeAll: async () => {},
}
