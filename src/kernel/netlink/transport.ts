/** Netlink families (linux/netlink.h). */
export const NETLINK_ROUTE = 0
export const NETLINK_NETFILTER = 12
export const NETLINK_GENERIC = 16

/** The callbacks of a netlink socket. */
export interface TransportHandlers {
  /** One datagram from the kernel: one or more messages. Valid during the call only. */
  onDatagram(bytes: Buffer): void
  /** The kernel dropped messages to this socket because its receive buffer was full. */
  onOverrun(): void
}

/** A netlink socket of the network namespace in which it was opened. */
export interface Transport {
  /** The port of the socket, which the kernel writes into its answers. */
  readonly port: number
  /** Sends one datagram; rejects with NP_KERNEL_NETLINK if the kernel does not accept it. */
  send(bytes: Buffer): Promise<void>
  /** Subscribes to a multicast group. */
  join(group: number): void
  /** Ends the subscription to a multicast group. */
  leave(group: number): void
  /** Whether the socket keeps the process alive. */
  hold(busy: boolean): void
  close(): void
}

/** Opens a netlink socket; throws NP_KERNEL_NETLINK when the kernel refuses. */
export type OpenTransport = (handlers: TransportHandlers) => Transport
