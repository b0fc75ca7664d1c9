import { findAttribute } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { VirtualServer, VirtualServerId } from '../ipvs.ts'
import { CMD_ATTR, COMMAND, ipvsRequest } from './family.ts'
import { decodeService, writeService } from './service.ts'

/** IPVS_CMD_GET_SERVICE of one: ESRCH; without an id the dump of all. */
export function encodeGetService(id?: VirtualServerId): GenericRequest {
  return ipvsRequest('getService', (writer) => {
    if (id !== undefined) writeService(writer, id)
  })
}

export function decodeGetService(message: NetlinkMessage): VirtualServer | undefined {
  if (commandOf(message) !== COMMAND.newService) return undefined
  const service = findAttribute(message.payload, CMD_ATTR.service, GENERIC_HEADER)
  return service && decodeService(service)
}
