import { findU32 } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { IpvsInfo } from '../ipvs.ts'
import { COMMAND, ipvsRequest } from './family.ts'

/** linux/ip_vs.h: enum IPVS_INFO_ATTR_*. */
const VERSION = 1
const TABLE_SIZE = 2

/** IPVS_CMD_GET_INFO. */
export function encodeGetInfo(): GenericRequest {
  return ipvsRequest('getInfo')
}

export function decodeGetInfo(message: NetlinkMessage): IpvsInfo | undefined {
  if (commandOf(message) !== COMMAND.setInfo) return undefined
  const attributes = message.payload.subarray(GENERIC_HEADER)
  const version = findU32(attributes, VERSION)
  const connectionTableSize = findU32(attributes, TABLE_SIZE)
  if (version === undefined || connectionTableSize === undefined) return undefined
  const parts = [16, 8, 0].map((shift) => (version >> shift) & 0xff)
  return { version: parts.join('.'), connectionTableSize }
}
