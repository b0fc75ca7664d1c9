import type { Family, IpAddress } from '../../lib/ip.ts'

export type FlowChoice = 'all' | 'unanswered'

export type FlowProtocol = 'TCP' | 'UDP' | 'SCTP'

/**
 * Flows to delete: those of a protocol that were sent to `ip:port` and do not
 * go to a backend in `keep`. For `node` any destination address counts; a flow
 * without address translation is lost without harm (its next packet makes it again, and
 * may find the Service by then), but one that foreign rules masquerade stays.
 */
export interface FlowFilter {
  readonly family: Family
  readonly protocol: FlowProtocol
  readonly ip: IpAddress | 'node'
  readonly port: number
  /** `ip:port` (IPv6 in brackets) of the backends that still serve it. */
  readonly keep: ReadonlySet<string>
  /** Flows that were translated to one of these ports stay: this process serves them. */
  readonly ownPorts?: ReadonlySet<number>
}

/** The kernel's table of tracked flows. */
export interface Conntrack {
  /**
   * Deletes flows, so that their next packet is forwarded anew; returns how
   * many. Throws NP_KERNEL_NETLINK when the table could not be read.
   */
  cut(filters: readonly FlowFilter[]): Promise<{ readonly deleted: number }>
  /**
   * Deletes the flows that rules of this node translated to one of these local ports: all, or those
   * that have no answer yet.
   */
  cutTranslatedTo(
    ports: ReadonlySet<number>,
    protocols: readonly FlowProtocol[],
    which?: FlowChoice,
  ): Promise<void>
}
