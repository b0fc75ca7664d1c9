import { type Family, formatIp, hostPort, type IpAddress, ipBytes } from '../../lib/ip.ts'
import {
  encodeAttribute,
  findAttribute,
  host32,
  locateAttribute,
  nest,
  valueLength,
} from '../netlink/attribute.ts'
import type { OutgoingMessage } from '../netlink/message.ts'
import { NFGENMSG, nfHeader } from '../netlink/nfnetlink.ts'

/** linux/netfilter/nfnetlink_conntrack.h: message and attribute types. */
const CT_NEW = 0x0100
const CT_GET = 0x0101
const CT_DELETE = 0x0102
const CTA_TUPLE_ORIG = 1
const CTA_TUPLE_REPLY = 2
const CTA_STATUS = 3
const CTA_ID = 12
const CTA_ZONE = 18
const CTA_FILTER = 25
const CTA_STATUS_MASK = 26
const CTA_FILTER_ORIG_FLAGS = 1
const CTA_FILTER_REPLY_FLAGS = 2
const CTA_TUPLE_IP = 1
const CTA_TUPLE_PROTO = 2
const CTA_IP_V4_SRC = 1
const CTA_IP_V4_DST = 2
const CTA_IP_V6_SRC = 3
const CTA_IP_V6_DST = 4
const CTA_PROTO_NUM = 1
const CTA_PROTO_SRC_PORT = 2
const CTA_PROTO_DST_PORT = 3
/** Bits of CTA_FILTER_ORIG_FLAGS: compare protocol, destination port. */
const BY_PROTOCOL = 1 << 3
const BY_DESTINATION_PORT = 1 << 5

/** Bits of CTA_STATUS: packets went both ways; the destination was translated. */
const SEEN_REPLY = 1 << 1
const DST_NAT = 1 << 5

/** The IPPROTO_* numbers of the protocols with ports. */
export const PROTOCOLS = { TCP: 6, UDP: 17, SCTP: 132 } as const

/** One direction of a flow. Addresses and ports are views into the message. */
export interface Tuple {
  readonly protocol: number
  readonly source: Buffer
  readonly destination: Buffer
  readonly sourcePort: number
  readonly destinationPort: number
}

/** An entry of the conntrack table. */
export interface Flow {
  readonly original: Tuple
  /** The tuple of the replies: its source is the backend. */
  readonly reply: Tuple
  /** Whether packets went both ways. */
  readonly isAnswered: boolean
  /** The attributes by which a deletion identifies this flow. */
  readonly identity: Buffer
}

/** Which flows a dump lists. */
export interface DumpFilter {
  readonly family: Family
  readonly protocol: keyof typeof PROTOCOLS
  /** Undefined means every destination port. */
  readonly port: number | undefined
  /** Only flows whose destination was translated and nobody has answered. Kernels before 5.15 ignore it. */
  readonly isWaiting?: boolean
}

/** CTNL_MSG_CT_GET: the flows of a protocol. Kernels before 5.8 answer with all flows of the family. */
export function encodeFlowDump(filter: DumpFilter): OutgoingMessage {
  const attributes = [encodeAttribute(CTA_PROTO_NUM, Buffer.from([PROTOCOLS[filter.protocol]]))]
  let flags = BY_PROTOCOL
  if (filter.port !== undefined) {
    attributes.push(encodeAttribute(CTA_PROTO_DST_PORT, network(filter.port, 2)))
    flags |= BY_DESTINATION_PORT
  }
  const waiting = [
    encodeAttribute(CTA_STATUS, network(DST_NAT, 4)),
    encodeAttribute(CTA_STATUS_MASK, network(DST_NAT | SEEN_REPLY, 4)),
  ]
  const payload = Buffer.concat([
    header(filter.family),
    nest(CTA_TUPLE_ORIG, nest(CTA_TUPLE_PROTO, ...attributes)),
    ...(filter.isWaiting ? waiting : []),
    nest(
      CTA_FILTER,
      encodeAttribute(CTA_FILTER_ORIG_FLAGS, host32(flags)),
      encodeAttribute(CTA_FILTER_REPLY_FLAGS, host32(0)),
    ),
  ])
  return { type: CT_GET, flags: 0, payload }
}

/** Source and destination of the replies of a flow. */
export interface ReplyEnds {
  readonly protocol: keyof typeof PROTOCOLS
  /** 4 or 16 bytes. */
  readonly source: Uint8Array
  readonly destination: Uint8Array
  readonly sourcePort: number
  readonly destinationPort: number
}

/** CTNL_MSG_CT_GET: the one flow whose replies have these ends. */
export function encodeFlowQuery(ends: ReplyEnds): OutgoingMessage {
  const isIpv6 = ends.source.length === 16
  const tuple = nest(
    CTA_TUPLE_REPLY,
    nest(
      CTA_TUPLE_IP,
      encodeAttribute(isIpv6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, Buffer.from(ends.source)),
      encodeAttribute(isIpv6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, Buffer.from(ends.destination)),
    ),
    nest(
      CTA_TUPLE_PROTO,
      encodeAttribute(CTA_PROTO_NUM, Buffer.from([PROTOCOLS[ends.protocol]])),
      encodeAttribute(CTA_PROTO_SRC_PORT, network(ends.sourcePort, 2)),
      encodeAttribute(CTA_PROTO_DST_PORT, network(ends.destinationPort, 2)),
    ),
  )
  return { type: CT_GET, flags: 0, payload: Buffer.concat([header(isIpv6 ? 6 : 4), tuple]) }
}

/** CTNL_MSG_CT_DELETE: the flow of exactly this identity; ENOENT when it is gone. */
export function encodeFlowDeletion(family: Family, flow: Flow): OutgoingMessage {
  return { type: CT_DELETE, flags: 0, payload: Buffer.concat([header(family), flow.identity]) }
}

/** The port that a flow was sent to, without decoding the rest; -1 if the flow has no ports. */
export function destinationPortOf({ payload }: { readonly payload: Buffer }): number {
  const at = locateInOriginal(payload, CTA_TUPLE_PROTO, CTA_PROTO_DST_PORT)
  return at < 0 || valueLength(payload, at) !== 2 ? -1 : payload.readUInt16BE(at)
}

/** A number for the address that a flow was sent to, without decoding the rest: `addressNumber` of it; -1 if it has none. */
export function destinationNumberOf({ payload }: { readonly payload: Buffer }): number {
  const four = locateInOriginal(payload, CTA_TUPLE_IP, CTA_IP_V4_DST)
  const at = four < 0 ? locateInOriginal(payload, CTA_TUPLE_IP, CTA_IP_V6_DST) : four
  return at < 0 ? -1 : numberOf(payload, at, valueLength(payload, at))
}

/** A number of 32 bits that is the same for the same address; of IPv6 addresses several can have it. */
export function addressNumber(ip: IpAddress): number {
  const bytes = Buffer.from(ipBytes(ip))
  return numberOf(bytes, 0, bytes.length)
}

function numberOf(bytes: Buffer, from: number, length: number): number {
  let number = 0
  for (let at = from; at + 4 <= from + length; at += 4) number ^= bytes.readUInt32BE(at)
  return number >>> 0
}

/** Where an attribute of a part of CTA_TUPLE_ORIG begins, or -1. */
function locateInOriginal(payload: Buffer, part: number, wanted: number): number {
  let range = { start: NFGENMSG, end: payload.length }
  for (const type of [CTA_TUPLE_ORIG, part]) {
    const at = locateAttribute(payload, type, range)
    if (at < 0) return -1
    range = { start: at, end: at + valueLength(payload, at) }
  }
  return locateAttribute(payload, wanted, range)
}

/** A flow of a protocol with ports, or undefined. */
export function decodeFlow(message: { type: number; payload: Buffer }): Flow | undefined {
  if (message.type !== CT_NEW) return undefined
  const { payload } = message
  const forth = findAttribute(payload, CTA_TUPLE_ORIG, NFGENMSG)
  const back = findAttribute(payload, CTA_TUPLE_REPLY, NFGENMSG)
  const original = forth && decodeTuple(forth)
  const reply = back && decodeTuple(back)
  if (forth === undefined || original === undefined || reply === undefined) return undefined
  return {
    original,
    reply,
    get isAnswered() {
      const status = findAttribute(payload, CTA_STATUS, NFGENMSG)
      return status !== undefined && (status.readUInt32BE(0) & SEEN_REPLY) !== 0
    },
    get identity() {
      return Buffer.concat([
        nest(CTA_TUPLE_ORIG, forth),
        ...[CTA_ZONE, CTA_ID].flatMap((type) => {
          const value = findAttribute(payload, type, NFGENMSG)
          return value === undefined ? [] : [encodeAttribute(type, value)]
        }),
      ])
    },
  }
}

/** `ip:port` of the backend that a flow goes to. */
export function backendOf(flow: Flow): string {
  return hostPort(formatIp(flow.reply.source), flow.reply.sourcePort)
}

/** Whether the destination that the client chose was replaced by another. */
export function isRewritten({ original, reply }: Flow): boolean {
  return original.destinationPort !== reply.sourcePort || !original.destination.equals(reply.source)
}

/**
 * Whether only the destination port was replaced: the flow ends at a socket of this node that accepts connections to
 * addresses of Services, as in userspace mode.
 */
export function isRedirected({ original, reply }: Flow): boolean {
  return original.destinationPort !== reply.sourcePort && original.destination.equals(reply.source)
}

/** Whether the client's address or port was replaced on the way. */
export function isMasqueraded({ original, reply }: Flow): boolean {
  return original.sourcePort !== reply.destinationPort || !original.source.equals(reply.destination)
}

/** Whether the client sent the flow to this address, before any translation. */
export function isSentTo(flow: Flow, ip: IpAddress): boolean {
  return flow.original.destination.equals(ipBytes(ip))
}

function decodeTuple(tuple: Buffer): Tuple | undefined {
  const address = findAttribute(tuple, CTA_TUPLE_IP)
  const proto = findAttribute(tuple, CTA_TUPLE_PROTO)
  if (address === undefined || proto === undefined) return undefined
  const source = findAttribute(address, CTA_IP_V4_SRC) ?? findAttribute(address, CTA_IP_V6_SRC)
  const destination = findAttribute(address, CTA_IP_V4_DST) ?? findAttribute(address, CTA_IP_V6_DST)
  const number = findAttribute(proto, CTA_PROTO_NUM)
  const from = findAttribute(proto, CTA_PROTO_SRC_PORT)
  const to = findAttribute(proto, CTA_PROTO_DST_PORT)
  if (!isAddress(source) || !isAddress(destination) || number?.length !== 1) return undefined
  if (from?.length !== 2 || to?.length !== 2) return undefined
  return {
    protocol: number.readUInt8(0),
    source,
    destination,
    sourcePort: from.readUInt16BE(0),
    destinationPort: to.readUInt16BE(0),
  }
}

function isAddress(value: Buffer | undefined): value is Buffer {
  return value?.length === 4 || value?.length === 16
}

function header(family: Family): Buffer {
  return Buffer.from(nfHeader(family))
}

/** In network order, in so many octets. */
function network(value: number, size: 2 | 4): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUIntBE(value, 0, size)
  return bytes
}
