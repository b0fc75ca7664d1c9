import type { Family, IpAddress } from '../../lib/ip.ts'

/** `unanswered`: only flows without a reply. */
export type FlowChoice = 'all' | 'unanswered'

/** Protocols whose flows have ports. */
export type FlowProtocol = 'TCP' | 'UDP' | 'SCTP'

/**
 * Flows to delete: those of a protocol that were sent to `ip:port` and do not go to a backend in `keep`. For `node`
 * they may have any destination address. Flows without address translation are deleted as well: their next packet
 * creates them again, and may then match rules of the Service. A flow that rules of other programs masquerade is kept.
 * Of TCP only connections that were translated and nobody has answered: the next SYN of the client is a new connection.
 */
export interface FlowFilter {
  readonly family: Family
  readonly protocol: FlowProtocol
  readonly ip: IpAddress | 'node'
  readonly port: number
  /** `ip:port` (IPv6 in brackets) of the backends that still serve it. */
  readonly keep: ReadonlySet<string>
  /** Flows that were translated to one of these ports are kept: this process serves them. */
  readonly ownPorts?: ReadonlySet<number>
}

/** The ends of a flow as rules after the translation of destinations see them. */
export interface FlowEnds {
  /** Who opened it. */
  readonly source: IpAddress
  /** To whom it was translated, or else sent. */
  readonly destination: IpAddress
  readonly protocol: FlowProtocol
  /** The port of the destination. */
  readonly port: number
}

/** The kernel's table of tracked flows. */
export interface Conntrack {
  /**
   * Deletes flows, so that rules apply to their next packet; returns how many. Throws
   * NP_KERNEL_NETLINK when the table could not be read.
   */
  cut(filters: readonly FlowFilter[]): Promise<{ readonly deleted: number }>
  /** How many flows `cut` would delete. Throws as it does. */
  count(filters: readonly FlowFilter[]): Promise<number>
  /**
   * Deletes the flows that rules of this node translated to one of these local ports: all, or only those without a
   * reply so far.
   */
  cutTranslatedTo(
    ports: ReadonlySet<number>,
    protocols: readonly FlowProtocol[],
    which?: FlowChoice,
  ): Promise<void>
  /**
   * Deletes the flows that begin or end at one of these addresses and are refused; returns how many. A flow that only
   * has another port is not forwarded, but ends at this node: it stays. Throws as `cut` does.
   */
  cutRefused(
    addresses: ReadonlySet<IpAddress>,
    isRefused: (flow: FlowEnds) => boolean,
  ): Promise<{ readonly deleted: number }>
}

/** For a process that may not change tracked flows: nothing is deleted. */
export const noopConntrack: Conntrack = {
  cut: async () => ({ deleted: 0 }),
  count: async () => 0,
  cutTranslatedTo: async () => {},
  cutRefused: async () => ({ deleted: 0 }),
}
