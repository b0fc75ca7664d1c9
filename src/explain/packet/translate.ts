import type { Endpoint, PacketState } from './packet-state.ts'

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
