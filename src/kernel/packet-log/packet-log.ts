import type { Family } from '../../lib/ip.ts'

/** A packet that a rule sent to the log. */
export interface LoggedPacket {
  readonly family: Family
  /** The text that the rule gave. */
  readonly prefix: string
  /** The first bytes of the packet, from its IP header on; a view, valid during the call. */
  readonly payload: Buffer
}

/** The callbacks of a packet log. */
export interface PacketLogHandlers {
  onPacket(packet: LoggedPacket): void
  /** The kernel dropped packets, because they were not read in time. */
  onLost(): void
}

/**
 * Reads the packets that rules of this network namespace send to one group, until the returned function is called.
 * Throws NP_KERNEL_NETLINK if the kernel has no log, or another program reads the group. While nobody reads a group,
 * rules log nothing.
 */
export type OpenPacketLog = (handlers: PacketLogHandlers) => Promise<() => void>
