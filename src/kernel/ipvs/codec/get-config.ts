import { findU32 } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { IpvsTimeouts } from '../ipvs.ts'
import { CMD_ATTR, COMMAND, ipvsRequest } from './family.ts'

/** IPVS_CMD_GET_CONFIG. */
export function encodeGetConfig(): GenericRequest {
  return ipvsRequest('getConfig')
}

/** A kernel without a protocol sends no time-out for it: 0. */
export function decodeGetConfig(message: NetlinkMessage): IpvsTimeouts | undefined {
  if (commandOf(message) !== COMMAND.setConfig) return undefined
  const attributes = message.payload.subarray(GENERIC_HEADER)
  return {
    tcp: findU32(attributes, CMD_ATTR.timeoutTcp) ?? 0,
    tcpFin: findU32(attributes, CMD_ATTR.timeoutTcpFin) ?? 0,
    udp: findU32(attributes, CMD_ATTR.timeoutUdp) ?? 0,
  }
}
