import { type IpAddress, ipBytes } from '../../../lib/ip.ts'
import type { PacketState } from '../../packet/packet-state.ts'

/** A byte of the packet; undefined: not known before it is sent (length, identification, checksums). */
export type PacketByte = number | undefined

const PROTOCOL_NUMBER: Readonly<Record<PacketState['protocol'], number>> = {
  TCP: 6,
  UDP: 17,
  SCTP: 132,
}

/** The network header without options, and the ports. */
export function packetBytes(packet: PacketState): readonly PacketByte[] {
  const protocol = PROTOCOL_NUMBER[packet.protocol]
  const addresses = [...bytesOf(packet.src), ...bytesOf(packet.dst)]
  const ports = [...portBytes(packet.srcPort), ...portBytes(packet.dstPort)]
  if (packet.family === 4) {
    return [0x45, ...unknown(8), protocol, ...unknown(2), ...addresses, ...ports]
  }
  return [...unknown(6), protocol, undefined, ...addresses, ...ports]
}

function bytesOf(ip: IpAddress): readonly number[] {
  return [...ipBytes(ip)]
}

function portBytes(port: number | undefined): readonly PacketByte[] {
  return port === undefined ? unknown(2) : [port >> 8, port & 255]
}

function unknown(count: number): readonly PacketByte[] {
  return Array.from({ length: count }, () => undefined)
}
