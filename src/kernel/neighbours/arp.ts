import { isUnicastMac, MAC_BYTES } from './mac-address.ts'

/** The operations of ARP (RFC 826). */
export const ARP = { request: 1, reply: 2 } as const

/** The size of a packet for Ethernet and IPv4; Ethernet pads it to 46 bytes. */
const ARP_BYTES = 28
/** The first six bytes: Ethernet, IPv4, and the sizes of their addresses. */
const HEADER = Buffer.from('000108000604', 'hex')
const AT = { operation: 6, senderMac: 8, senderIp: 14, targetMac: 18, targetIp: 24 } as const
const IP_BYTES = 4

/** An ARP packet for IPv4 on Ethernet. Addresses are 6 and 4 bytes. */
export interface ArpPacket {
  readonly operation: number
  readonly senderMac: Uint8Array
  /** 0.0.0.0 in a probe (RFC 5227). */
  readonly senderIp: Uint8Array
  /** Without a meaning in a request. */
  readonly targetMac: Uint8Array
  readonly targetIp: Uint8Array
}

/**
 * Reads a packet from its ARP header on, with or without padding; its addresses share the memory of `bytes`. Undefined if
 * it is cut off, is neither a request nor a reply for IPv4 on Ethernet, or the MAC address of its sender is not unicast.
 */
export function decodeArp(bytes: Uint8Array): ArpPacket | undefined {
  if (bytes.length < ARP_BYTES || HEADER.some((byte, at) => bytes[at] !== byte)) return undefined
  const operation = (bytes[AT.operation]! << 8) | bytes[AT.operation + 1]!
  const senderMac = bytes.subarray(AT.senderMac, AT.senderMac + MAC_BYTES)
  if (operation !== ARP.request && operation !== ARP.reply) return undefined
  if (!isUnicastMac(senderMac)) return undefined
  return {
    operation,
    senderMac,
    senderIp: bytes.subarray(AT.senderIp, AT.senderIp + IP_BYTES),
    targetMac: bytes.subarray(AT.targetMac, AT.targetMac + MAC_BYTES),
    targetIp: bytes.subarray(AT.targetIp, AT.targetIp + IP_BYTES),
  }
}

/** The bytes of a packet, without padding. */
export function encodeArp(packet: ArpPacket): Uint8Array {
  const bytes = new Uint8Array(ARP_BYTES)
  bytes.set(HEADER)
  bytes[AT.operation + 1] = packet.operation
  bytes.set(packet.senderMac, AT.senderMac)
  bytes.set(packet.senderIp, AT.senderIp)
  bytes.set(packet.targetMac, AT.targetMac)
  bytes.set(packet.targetIp, AT.targetIp)
  return bytes
}

/** The reply of the interface `mac` to a request. */
export function arpReply(request: ArpPacket, mac: Uint8Array): Uint8Array {
  return encodeArp({
    operation: ARP.reply,
    senderMac: mac,
    senderIp: request.targetIp,
    targetMac: request.senderMac,
    targetIp: request.senderIp,
  })
}

/**
 * Gratuitous ARP for an address, in both forms, because some hosts learn only from requests (RFC 5227) and others only
 * from replies. Linux takes a reply for gratuitous only if its target is the sender.
 */
export function arpAnnouncements(ip: Uint8Array, mac: Uint8Array): readonly Uint8Array[] {
  const both = { senderMac: mac, senderIp: ip, targetIp: ip }
  return [
    encodeArp({ ...both, operation: ARP.request, targetMac: new Uint8Array(MAC_BYTES) }),
    encodeArp({ ...both, operation: ARP.reply, targetMac: mac }),
  ]
}
