import type { Family } from '../../lib/ip.ts'
import { ADDRESS_FAMILY, familyOfNumber } from '../netlink/address-family.ts'
import { encodeAttribute, findAttribute } from '../netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { host32, NLM_F_CREATE, NLM_F_EXCL, OUR_PROTOCOL } from './rtnetlink.ts'

/** linux/rtnetlink.h. */
const RTM_NEWROUTE = 24
export const RTM_DELROUTE = 25
const RTM_GETROUTE = 26
const HEADER = 12
const RTA_OIF = 4
const RTA_TABLE = 15
const RTN_LOCAL = 2
/** IPv4 has local routes in no wider scope; IPv6 has no scopes. */
const SCOPE = { 4: 254, 6: 0 } as const
/** Every network namespace's `lo` has this index. */
const LOOPBACK = 1

/** `local default dev lo` of a table. */
export interface LocalDefault {
  readonly family: Family
  readonly table: number
  readonly isOurs: boolean
}

/** RTM_NEWROUTE: EEXIST when there is such a route. */
export function encodeRouteAdd(where: Pick<LocalDefault, 'family' | 'table'>): OutgoingMessage {
  return encodeRoute(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, where)
}

/** The kernel deletes the route that agrees in all fields, its origin included. */
export function encodeRouteDelete(where: Pick<LocalDefault, 'family' | 'table'>): OutgoingMessage {
  return encodeRoute(RTM_DELROUTE, 0, where)
}

/** All tables: the kernel looks at one of them only for sockets with strict checking. */
export function encodeRouteDump(family: Family): OutgoingMessage {
  const payload = Buffer.alloc(HEADER)
  payload[0] = ADDRESS_FAMILY[family]
  return { type: RTM_GETROUTE, flags: 0, payload }
}

/** The local default route in an answer to a dump, or in the notification of a deleted route. */
export function decodeLocalDefault({ type, payload }: Pick<NetlinkMessage, 'type' | 'payload'>) {
  if ((type !== RTM_NEWROUTE && type !== RTM_DELROUTE) || payload.length < HEADER) return undefined
  const [number, toLength, fromLength, tos, , protocol, , kind] = payload
  const family = familyOfNumber(number)
  if (family === undefined || kind !== RTN_LOCAL) return undefined
  if (toLength !== 0 || fromLength !== 0 || tos !== 0) return undefined
  const device = findAttribute(payload, RTA_OIF, HEADER)
  const table = findAttribute(payload, RTA_TABLE, HEADER)
  if (device?.length !== 4 || device.readUInt32LE(0) !== LOOPBACK) return undefined
  if (table?.length !== 4) return undefined
  const found: LocalDefault = {
    family,
    table: table.readUInt32LE(0),
    isOurs: protocol === OUR_PROTOCOL,
  }
  return found
}

/** `struct rtmsg`; the table is in an attribute of 32 bits. */
function encodeRoute(
  type: number,
  flags: number,
  { family, table }: Pick<LocalDefault, 'family' | 'table'>,
): OutgoingMessage {
  const header = Buffer.alloc(HEADER)
  header[0] = ADDRESS_FAMILY[family]
  header[5] = OUR_PROTOCOL
  header[6] = SCOPE[family]
  header[7] = RTN_LOCAL
  const payload = Buffer.concat([
    header,
    encodeAttribute(RTA_TABLE, host32(table)),
    encodeAttribute(RTA_OIF, host32(LOOPBACK)),
  ])
  return { type, flags, payload }
}
