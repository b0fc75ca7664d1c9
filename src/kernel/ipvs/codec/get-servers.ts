import type { Family } from '../../../lib/ip.ts'
import { findAttribute } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { RealServerState, VirtualServerId } from '../ipvs.ts'
import { CMD_ATTR, COMMAND, ipvsRequest } from './family.ts'
import { decodeServer } from './server.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_GET_DEST: a dump, empty when there is no such virtual server. */
export function encodeGetServers(id: VirtualServerId): GenericRequest {
  return ipvsRequest('getServer', (writer) => writeService(writer, id))
}

/** `family`: of the virtual server. */
export function decodeGetServers(
  message: NetlinkMessage,
  family: Family,
): RealServerState | undefined {
  if (commandOf(message) !== COMMAND.newServer) return undefined
  const server = findAttribute(message.payload, CMD_ATTR.server, GENERIC_HEADER)
  return server && decodeServer(server, family)
}
