import { findU32 } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { IpvsInfo, IpvsTimeouts } from '../ipvs.ts'
import { CMD_ATTR, COMMAND, ipvsRequest } from './family.ts'

/** linux/ip_vs.h: enum IPVS_INFO_ATTR_*. */
const VERSION = 1
const TABLE_SIZE = 2

/** IPVS_CMD_GET_INFO. */
export function encodeGetInfo(): GenericRequest {
  return ipvsRequest('getInfo')
}

/** The answer to `encodeGetInfo`; undefined for any other message. */
export function decodeGetInfo(message: NetlinkMessage): IpvsInfo | undefined {
  if (commandOf(message) !== COMMAND.setInfo) return undefined
  const attributes = message.payload.subarray(GENERIC_HEADER)
  const version = findU32(attributes, VERSION)
  const connectionTableSize = findU32(attributes, TABLE_SIZE)
  if (version === undefined || connectionTableSize === undefined) return undefined
  const parts = [16, 8, 0].map((shift) => (version >> shift) & 0xff)
  return { version: parts.join('.'), connectionTableSize }
}

/** IPVS_CMD_GET_CONFIG. */
export function encodeGetConfig(): GenericRequest {
  return ipvsRequest('getConfig')
}

/** A kernel without a protocol sends no timeout for it: 0. */
export function decodeGetConfig(message: NetlinkMessage): IpvsTimeouts | undefined {
  if (commandOf(message) !== COMMAND.setConfig) return undefined
  const attributes = message.payload.subarray(GENERIC_HEADER)
  return {
    tcp: findU32(attributes, CMD_ATTR.timeoutTcp) ?? 0,
    tcpFin: findU32(attributes, CMD_ATTR.timeoutTcpFin) ?? 0,
    udp: findU32(attributes, CMD_ATTR.timeoutUdp) ?? 0,
  }
}

/** IPVS_CMD_SET_CONFIG: EINVAL. What is absent or 0 stays as it is. */
export function encodeSetConfig({ tcp, tcpFin, udp }: Partial<IpvsTimeouts>): GenericRequest {
  return ipvsRequest('setConfig', (writer) => {
    if (tcp !== undefined) writer.u32(CMD_ATTR.timeoutTcp, tcp)
    if (tcpFin !== undefined) writer.u32(CMD_ATTR.timeoutTcpFin, tcpFin)
    if (udp !== undefined) writer.u32(CMD_ATTR.timeoutUdp, udp)
  })
}
