import { internetChecksum } from '../sockets/checksum.ts'
import { isUnicastMac, MAC_BYTES } from './mac-address.ts'

/** Types of ICMPv6 messages (RFC 4861). */
export const ND = { solicitation: 135, advertisement: 136 } as const

/** Flags of an advertisement, in the byte after the checksum. */
const FLAG = { solicited: 0x40, override: 0x20 } as const
/** Options with a link-layer address: of the source of a solicitation, of the target of an advertisement. */
const SOURCE_LINK_ADDRESS = 1
const TARGET_LINK_ADDRESS = 2
/** Lengths of options count units of 8 bytes. */
const OPTION_UNIT = 8

const ICMPV6 = 58
/** Only a neighbour on the same link can send a packet with this hop limit. */
const HOP_LIMIT = 255
const IP_BYTES = 16
const IP_HEADER_BYTES = 40
/** Of a message without options: type, code, checksum, flags, target. */
const MESSAGE_BYTES = 24
const PSEUDO_HEADER_BYTES = 40
const AT = { length: 4, nextHeader: 6, hopLimit: 7, source: 8, destination: 24 } as const
const MESSAGE = { code: 1, checksum: 2, flags: 4, target: 8 } as const

/** ff02::1, all nodes of the link. */
export const ALL_NODES = Buffer.from('ff020000000000000000000000000001', 'hex')
/** The first 13 bytes of solicited-node groups: ff02::1:ff00:0/104. */
const SOLICITED_NODE = Buffer.from('ff0200000000000000000001ff', 'hex')

/** A neighbour solicitation or advertisement. IP addresses are 16 bytes, views of the packet. */
export interface NeighbourMessage {
  readonly type: (typeof ND)[keyof typeof ND]
  /** `::` in a solicitation of duplicate address detection (RFC 4862). */
  readonly source: Uint8Array
  readonly destination: Uint8Array
  readonly target: Uint8Array
  /** Of an advertisement: whether it answers a solicitation, and whether it replaces an entry that exists. */
  readonly solicited: boolean
  readonly override: boolean
  /** The Ethernet address of the sender (solicitation) or target (advertisement); undefined without this option. */
  readonly linkAddress: Uint8Array | undefined
}

/**
 * Reads a packet from its IPv6 header on. Undefined if it is not a message that RFC 4861 (7.1.1, 7.1.2) lets a node
 * process: cut off, with a wrong checksum, hop limit, code, option or address, or with extension headers (RFC 6980).
 */
export function decodeNeighbourMessage(packet: Uint8Array): NeighbourMessage | undefined {
  const body = messageOf(packet)
  const type = body?.[0]
  if (body === undefined || (type !== ND.solicitation && type !== ND.advertisement)) {
    return undefined
  }
  const isAdvertisement = type === ND.advertisement
  const options = readOptions(body, isAdvertisement ? TARGET_LINK_ADDRESS : SOURCE_LINK_ADDRESS)
  const flags = isAdvertisement ? body[MESSAGE.flags]! : 0
  const message: NeighbourMessage = {
    type,
    source: packet.subarray(AT.source, AT.source + IP_BYTES),
    destination: packet.subarray(AT.destination, AT.destination + IP_BYTES),
    target: body.subarray(MESSAGE.target, MESSAGE.target + IP_BYTES),
    solicited: (flags & FLAG.solicited) !== 0,
    override: (flags & FLAG.override) !== 0,
    linkAddress: options?.linkAddress,
  }
  return options !== undefined && hasValidAddresses(message) ? message : undefined
}

/** The bytes of a message with an IPv6 header, its link-layer address in the option of its type. */
export function encodeNeighbourMessage(message: NeighbourMessage): Uint8Array {
  const { type, linkAddress } = message
  const length = MESSAGE_BYTES + (linkAddress === undefined ? 0 : OPTION_UNIT)
  const packet = new Uint8Array(IP_HEADER_BYTES + length)
  const body = packet.subarray(IP_HEADER_BYTES)
  packet[0] = 0x60
  packet[AT.length + 1] = length
  packet[AT.nextHeader] = ICMPV6
  packet[AT.hopLimit] = HOP_LIMIT
  packet.set(message.source, AT.source)
  packet.set(message.destination, AT.destination)
  body[0] = type
  if (message.solicited) body[MESSAGE.flags]! |= FLAG.solicited
  if (message.override) body[MESSAGE.flags]! |= FLAG.override
  body.set(message.target, MESSAGE.target)
  if (linkAddress !== undefined) {
    body[MESSAGE_BYTES] = type === ND.solicitation ? SOURCE_LINK_ADDRESS : TARGET_LINK_ADDRESS
    body[MESSAGE_BYTES + 1] = 1
    body.set(linkAddress, MESSAGE_BYTES + 2)
  }
  const checksum = checksumOf(packet, body)
  body[MESSAGE.checksum] = checksum >> 8
  body[MESSAGE.checksum + 1] = checksum & 0xff
  return packet
}

/** The multicast group in which a node hears solicitations for an address (RFC 4291). */
export function solicitedNodeGroup(ip: Uint8Array): Uint8Array {
  return Buffer.concat([SOLICITED_NODE, ip.subarray(SOLICITED_NODE.length)])
}

/** The Ethernet address of an IPv6 multicast group (RFC 2464). */
export function multicastMac(group: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(0x33, 0x33), group.subarray(12)])
}

export function isUnspecified(ip: Uint8Array): boolean {
  return ip.every((byte) => byte === 0)
}

/** The ICMPv6 message of a packet, if it is whole and was sent on this link; padding is left out. */
function messageOf(packet: Uint8Array): Uint8Array | undefined {
  if (packet.length < IP_HEADER_BYTES + MESSAGE_BYTES || packet[0]! >> 4 !== 6) return undefined
  if (packet[AT.nextHeader] !== ICMPV6 || packet[AT.hopLimit] !== HOP_LIMIT) return undefined
  const length = (packet[AT.length]! << 8) | packet[AT.length + 1]!
  const body = packet.subarray(IP_HEADER_BYTES, IP_HEADER_BYTES + length)
  if (body.length !== length || length < MESSAGE_BYTES || length % OPTION_UNIT !== 0)
    return undefined
  return body[MESSAGE.code] === 0 && checksumOf(packet, body) === 0 ? body : undefined
}

function hasValidAddresses({ type, source, destination, target, ...rest }: NeighbourMessage) {
  if (isMulticast(source) || isMulticast(target) || isUnspecified(target)) return false
  if (type === ND.advertisement) return !(rest.solicited && isMulticast(destination))
  if (!isUnspecified(source)) return true
  const isToGroup = SOLICITED_NODE.every((byte, at) => destination[at] === byte)
  return isToGroup && rest.linkAddress === undefined
}

function isMulticast(ip: Uint8Array): boolean {
  return ip[0] === 0xff
}

/** The link-layer address of the first option of a type; undefined if an option has an impossible length or address. */
function readOptions(
  body: Uint8Array,
  wanted: number,
): { readonly linkAddress: Uint8Array | undefined } | undefined {
  let linkAddress: Uint8Array | undefined
  for (let at = MESSAGE_BYTES; at < body.length; ) {
    const size = body[at + 1]! * OPTION_UNIT
    if (size === 0 || at + size > body.length) return undefined
    if (body[at] === wanted) linkAddress ??= body.subarray(at + 2, at + 2 + MAC_BYTES)
    at += size
  }
  if (linkAddress !== undefined && !isUnicastMac(linkAddress)) return undefined
  return { linkAddress }
}

/** The checksum over pseudo-header and message (RFC 8200); 0 if the message holds its own. */
function checksumOf(packet: Uint8Array, body: Uint8Array): number {
  const bytes = new Uint8Array(PSEUDO_HEADER_BYTES + body.length)
  bytes.set(packet.subarray(AT.source, IP_HEADER_BYTES))
  bytes[34] = body.length >> 8
  bytes[35] = body.length & 0xff
  bytes[39] = ICMPV6
  bytes.set(body, PSEUDO_HEADER_BYTES)
  return internetChecksum(bytes)
}
