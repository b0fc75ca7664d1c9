import { formatIp } from '../../lib/ip.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import type { InterfaceAddress } from './addresses.ts'

/** linux/rtnetlink.h, if_addr.h, if_link.h. */
export const RTM_NEWLINK = 16
const RTM_GETLINK = 18
export const RTM_NEWADDR = 20
export const RTM_DELADDR = 21
const RTM_GETADDR = 22
const IFA_ADDRESS = 1
const IFA_LOCAL = 2
const IFLA_IFNAME = 3
const IFADDRMSG = 8
const IFINFOMSG = 16
const AF_INET = 2
const AF_INET6 = 10
/** enum rt_scope_t; anything else is wider than a link. */
const SCOPES: Readonly<Record<number, InterfaceAddress['scope']>> = { 253: 'link', 254: 'host' }

/** RTM_GETLINK: all interfaces. */
export const LINK_DUMP: OutgoingMessage = {
  type: RTM_GETLINK,
  flags: 0,
  payload: Buffer.alloc(IFINFOMSG),
}
/** RTM_GETADDR: all addresses of both families. */
export const ADDRESS_DUMP: OutgoingMessage = {
  type: RTM_GETADDR,
  flags: 0,
  payload: Buffer.alloc(IFADDRMSG),
}

/** Index and name of an interface from an RTM_NEWLINK; undefined for any other message. */
export function decodeLink(message: NetlinkMessage): readonly [number, string] | undefined {
  if (message.type !== RTM_NEWLINK || message.payload.length < IFINFOMSG) return undefined
  const name = findAttribute(message.payload, IFLA_IFNAME, IFINFOMSG)
  return name && [message.payload.readInt32LE(4), attributeText(name)]
}

/** An address with the index of its interface in place of the name. */
export interface IndexedAddress extends Omit<InterfaceAddress, 'device'> {
  readonly index: number
}

/**
 * The address of an RTM_NEWADDR; undefined for another message or family. On a point-to-point link IFA_ADDRESS
 * is the address of the other end, IFA_LOCAL always that of this node.
 */
export function decodeAddress(message: NetlinkMessage): IndexedAddress | undefined {
  const { payload } = message
  if (message.type !== RTM_NEWADDR || payload.length < IFADDRMSG) return undefined
  const value =
    findAttribute(payload, IFA_LOCAL, IFADDRMSG) ?? findAttribute(payload, IFA_ADDRESS, IFADDRMSG)
  const family = payload[0] === AF_INET ? 4 : payload[0] === AF_INET6 ? 6 : undefined
  if (family === undefined || value?.length !== (family === 4 ? 4 : 16)) return undefined
  return {
    family,
    ip: formatIp(value),
    prefix: payload[1] ?? 0,
    scope: SCOPES[payload[3] ?? 0] ?? 'global',
    index: payload.readUInt32LE(4),
  }
}
