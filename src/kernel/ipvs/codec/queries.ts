import type { Family } from '../../../lib/ip.ts'
import { findAttribute } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { RealServerState, VirtualServer, VirtualServerId } from '../ipvs.ts'
import { CMD_ATTR, COMMAND, ipvsRequest } from './family.ts'
import { decodeServer } from './real-server.ts'
import { decodeService, writeService } from './virtual-server.ts'

/** IPVS_CMD_GET_SERVICE of one: ESRCH; without an id the dump of all. */
export function encodeGetService(id?: VirtualServerId): GenericRequest {
  return ipvsRequest('getService', (writer) => {
    if (id !== undefined) writeService(writer, id)
  })
}

/** The virtual server in an answer to `encodeGetService`; undefined when it is of an unknown kind. */
export function decodeGetService(message: NetlinkMessage): VirtualServer | undefined {
  if (commandOf(message) !== COMMAND.newService) return undefined
  const service = findAttribute(message.payload, CMD_ATTR.service, GENERIC_HEADER)
  return service && decodeService(service)
}

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
