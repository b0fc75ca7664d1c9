import { type Family, formatIp, type IpAddress } from '../../lib/ip.ts'

/** What the first bytes of a packet say of its connection. */
export interface PacketHeaders {
  readonly source: IpAddress
  readonly destination: IpAddress
  /** `TCP`, `UDP`, `SCTP`, `ICMP`, `ICMPv6`, or the number of another protocol; undefined if it is cut off. */
  readonly protocol: string | undefined
  /** Of TCP, UDP and SCTP; undefined in fragments after the first, and if they are cut off. */
  readonly ports: { readonly source: number; readonly destination: number } | undefined
}

/** Numbers of protocols (IANA). */
const NAMES: Readonly<Record<number, string>> = {
  1: 'ICMP',
  6: 'TCP',
  17: 'UDP',
  58: 'ICMPv6',
  132: 'SCTP',
}
const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 132])

/** Headers of IPv6 that another one follows; the others are hop-by-hop options, routing, destination options, mobility. */
const [FRAGMENT, AUTHENTICATION] = [44, 51]
const EXTENSIONS: ReadonlySet<number> = new Set([FRAGMENT, AUTHENTICATION, 0, 43, 60, 135])

/** Where the header of the transport protocol begins. */
interface Transport {
  readonly protocol: number
  readonly at: number
  /** Whether the header is in this packet, and not in the first fragment. */
  readonly isHere: boolean
}

/** Reads the headers of IP and of the transport protocol; undefined if the addresses are not there. */
export function decodeHeaders(packet: Buffer, family: Family): PacketHeaders | undefined {
  const [first, size, addresses] = family === 4 ? [12, 4, 20] : [8, 16, 40]
  if (packet.length < addresses || packet[0]! >> 4 !== family) return undefined
  const source = formatIp(packet.subarray(first, first + size))
  const destination = formatIp(packet.subarray(first + size, first + 2 * size))
  const found = family === 4 ? transportOf4(packet) : transportOf6(packet)
  const protocol = found && (NAMES[found.protocol] ?? String(found.protocol))
  return { source, destination, protocol, ports: found && portsOf(packet, found) }
}

function transportOf4(packet: Buffer): Transport {
  const offset = packet.readUInt16BE(6) & 0x1fff
  return { protocol: packet[9]!, at: (packet[0]! & 0x0f) * 4, isHere: offset === 0 }
}

function transportOf6(packet: Buffer): Transport | undefined {
  let protocol = packet[6]!
  let isHere = true
  let at = 40
  while (isHere && EXTENSIONS.has(protocol)) {
    if (at + 8 > packet.length) return undefined
    if (protocol === FRAGMENT) isHere = packet.readUInt16BE(at + 2) >> 3 === 0
    const size = extensionSize(protocol, packet[at + 1]!)
    protocol = packet[at]!
    at += size
  }
  return EXTENSIONS.has(protocol) ? undefined : { protocol, at, isHere }
}

/** Bytes of an extension header, by the length that it says. */
function extensionSize(protocol: number, length: number): number {
  if (protocol === FRAGMENT) return 8
  return protocol === AUTHENTICATION ? (length + 2) * 4 : (length + 1) * 8
}

function portsOf(packet: Buffer, { protocol, at, isHere }: Transport): PacketHeaders['ports'] {
  if (!isHere || !WITH_PORTS.has(protocol) || at + 4 > packet.length) return undefined
  return { source: packet.readUInt16BE(at), destination: packet.readUInt16BE(at + 2) }
}
