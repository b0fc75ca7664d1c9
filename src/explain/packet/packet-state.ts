import type { Family, IpAddress } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'

/** The numbers of the protocols in IP headers. */
export const PROTOCOL_NUMBER: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 }

/** A netfilter hook of IPv4 and IPv6, with its name in `nft`. */
export type Hook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting'

/** An address with a port. */
export interface Endpoint {
  readonly ip: IpAddress
  /** Undefined means any ephemeral port. */
  readonly port: number | undefined
}

/** Source and destination of one direction of a connection. */
export interface Ends {
  readonly src: Endpoint
  readonly dst: Endpoint
}

/** What connection tracking knows about the packet's connection. */
export interface Connection {
  /** `new`: this is its first packet; `untracked`: NOTRACK, so there is no address translation either. */
  readonly status: 'new' | 'established' | 'untracked'
  /** The packet as it was before any translation. */
  readonly original: Ends
  /** The destination after translation; undefined if not translated. */
  readonly dnat: Endpoint | undefined
  /** The source after translation; undefined if not translated. */
  readonly snat: Endpoint | undefined
  /**
   * Which translations have been decided, including those without a change. The kernel decides each once, in the first
   * nat hook that the connection passes; later hooks of the same translation do not run.
   */
  readonly decided: { readonly destination: boolean; readonly source: boolean }
  /** The mark of the connection (CONNMARK), 0 unless set. */
  readonly mark: number
}

/** A packet at one point of its path through the kernel. Immutable: every change creates a new object. */
export interface PacketState {
  readonly family: Family
  readonly protocol: Protocol
  readonly src: IpAddress
  /** Undefined means any ephemeral port. */
  readonly srcPort: number | undefined
  readonly dst: IpAddress
  readonly dstPort: number
  /** Undefined if it comes from a process of this node. */
  readonly inInterface: string | undefined
  /** Undefined until the packet is routed, and for a packet that is delivered here. */
  readonly outInterface: string | undefined
  /** The gateway of its route; undefined if the destination is on the link, or no route was chosen yet. */
  readonly gateway: IpAddress | undefined
  /** The bridge port through which it came, only with br_netfilter. */
  readonly bridgePort: string | undefined
  /** The firewall mark, 32 bits, unsigned. */
  readonly mark: number
  readonly connection: Connection
  /** The virtual server that IPVS chose (`-m ipvs`); undefined if IPVS has not handled the packet. */
  readonly virtualServer: Endpoint | undefined
  /** The local socket that TPROXY assigned; it takes the packet if the packet is routed to this node. */
  readonly socket: Endpoint | undefined
  /** The elements that rules added to sets or deleted for this packet, oldest first: later rules see them. */
  readonly setChanges: readonly SetChange[]
}

/** An element that a rule added to a set, or deleted, while the packet passed. */
export interface SetChange {
  readonly set: string
  /** The element as the set's program lists it. */
  readonly element: string
  readonly isAdded: boolean
}

/** The values for building the first packet of a connection. */
export interface FirstPacket
  extends Pick<PacketState, 'family' | 'protocol' | 'src' | 'srcPort' | 'dst' | 'dstPort'> {
  readonly inInterface?: string
  readonly mark?: number
}

/** The first packet of a new connection, untouched. */
export function firstPacket(given: FirstPacket): PacketState {
  const { family, protocol, src, srcPort, dst, dstPort, inInterface, mark = 0 } = given
  return {
    family,
    protocol,
    src,
    srcPort,
    dst,
    dstPort,
    inInterface,
    mark,
    outInterface: undefined,
    gateway: undefined,
    bridgePort: undefined,
    connection: {
      status: 'new',
      original: { src: { ip: src, port: srcPort }, dst: { ip: dst, port: dstPort } },
      dnat: undefined,
      snat: undefined,
      decided: { destination: false, source: false },
      mark: 0,
    },
    virtualServer: undefined,
    socket: undefined,
    setChanges: [],
  }
}

/** Which half of the packet address translation replaces. */
export type Translation = 'destination' | 'source'

/**
 * The packet after DNAT or SNAT: address and port are replaced, and the translation counts as decided for the
 * connection. If `to` has no port, the packet keeps its own. The original packet is returned if the translation was
 * decided before, or the connection is not tracked: such a rule has no effect.
 */
export function translate(
  packet: PacketState,
  translation: Translation,
  to: { readonly ip?: Endpoint['ip'] | undefined; readonly port?: number | undefined },
): PacketState {
  const { connection } = packet
  if (connection.status === 'untracked' || connection.decided[translation]) return packet
  const decided = { ...connection.decided, [translation]: true }
  if (translation === 'destination') {
    const dnat = { ip: to.ip ?? packet.dst, port: to.port ?? packet.dstPort }
    const moved = { ...packet, dst: dnat.ip, dstPort: dnat.port }
    return { ...moved, connection: { ...connection, dnat, decided } }
  }
  const snat = { ip: to.ip ?? packet.src, port: to.port ?? packet.srcPort }
  const moved = { ...packet, src: snat.ip, srcPort: snat.port }
  return { ...moved, connection: { ...connection, snat, decided } }
}

/** The packet, left out of connection tracking. */
export function untracked(packet: PacketState): PacketState {
  return { ...packet, connection: { ...packet.connection, status: 'untracked' } }
}
