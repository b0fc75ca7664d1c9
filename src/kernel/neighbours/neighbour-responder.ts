import type { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'

/** Another host that answers for an announced address, or announces it. */
export interface AddressConflict {
  readonly ip: IpAddress
  /** Its Ethernet address: `02:00:00:00:00:01`. */
  readonly mac: string
}

/**
 * The state of the network interface. `up`: it answers. `down`, `without carrier` and `absent`: it will, once the
 * interface is back.
 * `failed`: it will try again every second.
 */
export type LinkStatus =
  | { readonly state: 'up'; readonly mac: string }
  | { readonly state: 'down' | 'without carrier' | 'absent' }
  | { readonly state: 'failed'; readonly error: NodeProxyError }

/** The callbacks of a responder. */
export interface ResponderHandlers {
  /** At most once a minute for each address. */
  onConflict(conflict: AddressConflict): void
  /** The first state, and each different one. */
  onLink(status: LinkStatus): void
  /** The responder ended by itself and answers nothing more. */
  onLost(error: NodeProxyError): void
}

/** What a responder counted since it was opened. */
export interface ResponderCounts {
  /** Requests and solicitations that were answered. */
  readonly answered: number
  /** Gratuitous messages that were sent. */
  readonly announced: number
  /** Messages that are malformed, or that no host may send. */
  readonly ignored: number
  /** Messages that the kernel did not send. */
  readonly unsent: number
  /** Messages of other hosts that claim an announced address. */
  readonly conflicting: number
}

/**
 * Answers ARP requests and neighbour solicitations for IP addresses that are on no interface of this node, so that
 * their packets come here.
 */
export interface NeighbourResponder {
  /**
   * Replaces the set of addresses, which is empty at first: each with the time until which it is answered, in
   * milliseconds of `monotonicMs`. From then on it is not answered, even if this process hangs. What is new in the set,
   * or had expired, is announced to the link three times, one second apart. Resolves when the new set is in force, or
   * when the responder has ended.
   */
  announce(addresses: ReadonlyMap<IpAddress, number>): Promise<void>
  counts(): ResponderCounts
  /** Stops answering. Idempotent. */
  close(): Promise<void>
}

/**
 * Opens a responder for a network interface by its name: an Ethernet interface, a bond, a bridge or a VLAN, but no port
 * of one. It may be down or absent. Rejects with NP_KERNEL_NEIGHBOURS, if this process may not do that or the machine
 * cannot.
 */
export type OpenNeighbourResponder = (
  device: string,
  handlers: ResponderHandlers,
) => Promise<NeighbourResponder>
