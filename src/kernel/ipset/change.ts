import { type Cidr, formatIp, type IpAddress, ipBytes, parseCidr } from '../../lib/ip.ts'
import { findAttribute, locateAttribute, valueLength } from '../netlink/attribute.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { align, type NetlinkMessage, type OutgoingMessage } from '../netlink/message.ts'
import type { Member } from './sets.ts'
import {
  ATTR_ADT,
  ATTR_DATA,
  answerTo,
  encodeCommand,
  NETWORK_ORDER,
  readNumber,
  writeByte,
  writeNumber,
} from './wire.ts'

/** Attributes of a member's data (linux/netfilter/ipset/ip_set.h). */
const IP = 1
const PORT = 4
const TIMEOUT = 6
const PROTO = 7
const FLAGS = 8
const IP2 = 20
const CIDR2 = 21
const SKBMARK = 27
/** Attributes inside IP and IP2. */
const ADDRESS = { 4: 1, 6: 2 } as const
/** IPSET_FLAG_NOMATCH: the member is an exception from other members. */
const NOMATCH = 1 << 2
const ATTRIBUTE_HEADER = 4

const NUMBER = { TCP: 6, UDP: 17, SCTP: 132 } as const
const PROTOCOL = new Map<number | undefined, keyof typeof NUMBER>([
  [6, 'TCP'],
  [17, 'UDP'],
  [132, 'SCTP'],
])

/** Adds or deletes a member. */
export function encodeChange(
  change: 'add' | 'delete',
  name: string,
  member: Member,
): OutgoingMessage {
  return encodeCommand(change, name, (to) => {
    to.nest(ATTR_DATA, () => {
      writeKey(to, member)
      if (change === 'add') writeExtras(to, member)
    })
  })
}

function writeKey(to: AttributeWriter, { ip, protocol, port, net }: Member): void {
  writeIp(to, IP, ip)
  if (port !== undefined) to.be16(PORT | NETWORK_ORDER, port)
  if (protocol !== undefined) writeByte(to, PROTO, NUMBER[protocol])
  if (net === undefined) return
  const slash = net.indexOf('/')
  writeIp(to, IP2, net.slice(0, slash) as IpAddress)
  writeByte(to, CIDR2, Number(net.slice(slash + 1)))
}

function writeExtras(to: AttributeWriter, { timeout, mark }: Member): void {
  if (timeout !== undefined) writeNumber(to, TIMEOUT, timeout)
  if (mark === undefined) return
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeUInt32BE(mark.value, 0)
  bytes.writeUInt32BE(mark.mask, 4)
  to.bytes(SKBMARK | NETWORK_ORDER, bytes)
}

function writeIp(to: AttributeWriter, type: number, ip: IpAddress): void {
  const bytes = ipBytes(ip)
  const family = bytes.length === 4 ? 4 : 6
  to.nest(type, () => to.bytes(ADDRESS[family] | NETWORK_ORDER, bytes))
}

/** The members in one answer to a listing, without those that cannot be decoded. */
export function decodeMembers(message: NetlinkMessage): readonly Member[] {
  const all = answerTo('list', message, ATTR_ADT)
  const members: Member[] = []
  let start = 0
  while (all !== undefined) {
    const at = locateAttribute(all, ATTR_DATA, { start, end: all.length })
    if (at < 0) break
    const length = valueLength(all, at)
    const member = decodeMember(all.subarray(at, at + length))
    if (member !== undefined) members.push(member)
    start = at + align(ATTRIBUTE_HEADER + length) - ATTRIBUTE_HEADER
  }
  return members
}

function decodeMember(data: Buffer): Member | undefined {
  const ip = decodeIp(data, IP)
  const number = readNumber(findAttribute(data, PROTO))
  const protocol = PROTOCOL.get(number)
  const port = readNumber(findAttribute(data, PORT))
  const hasNet = findAttribute(data, IP2) !== undefined
  const net = hasNet ? decodeNet(data) : undefined
  const flags = readNumber(findAttribute(data, FLAGS)) ?? 0
  if (ip === undefined || (number !== undefined && protocol === undefined)) return undefined
  if ((hasNet && net === undefined) || (flags & NOMATCH) !== 0) return undefined
  return {
    ip,
    ...(protocol && { protocol }),
    ...(port !== undefined && { port }),
    ...(net && { net }),
    ...decodeExtras(data),
  }
}

function decodeExtras(data: Buffer): Pick<Member, 'timeout' | 'mark'> {
  const timeout = readNumber(findAttribute(data, TIMEOUT))
  const mark = findAttribute(data, SKBMARK)
  return {
    ...(timeout !== undefined && { timeout }),
    ...(mark?.length === 8 && {
      mark: { value: mark.readUInt32BE(0), mask: mark.readUInt32BE(4) },
    }),
  }
}

function decodeNet(data: Buffer): Cidr | undefined {
  const network = decodeIp(data, IP2)
  const prefix = readNumber(findAttribute(data, CIDR2))
  return network === undefined ? undefined : parseCidr(`${network}/${prefix}`)
}

function decodeIp(data: Buffer, type: number): IpAddress | undefined {
  const outer = findAttribute(data, type)
  const bytes = outer && (findAttribute(outer, ADDRESS[4]) ?? findAttribute(outer, ADDRESS[6]))
  return bytes?.length === 4 || bytes?.length === 16 ? formatIp(bytes) : undefined
}
