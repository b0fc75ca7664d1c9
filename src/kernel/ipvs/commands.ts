import type { GenericRequest } from '../netlink/generic.ts'
import type {
  IpvsCommand,
  RealServer,
  RealServerId,
  VirtualServerId,
  VirtualServerSettings,
} from './ipvs.ts'
import { writeServer, writeServerId } from './real-server.ts'
import { writeService } from './virtual-server.ts'
import { ipvsRequest } from './wire.ts'

/** The request for one command. */
export function encodeCommand(command: IpvsCommand): GenericRequest {
  switch (command.do) {
    case 'addService':
      return encodeAddService(command.id, command.settings)
    case 'setService':
      return encodeSetService(command.id, command.settings)
    case 'deleteService':
      return encodeDeleteService(command.id)
    case 'addServer':
      return encodeAddServer(command.id, command.server)
    case 'setServer':
      return encodeSetServer(command.id, command.server)
    case 'deleteServer':
      return encodeDeleteServer(command.id, command.server)
  }
}

/** IPVS_CMD_NEW_SERVICE, which may be refused with EEXIST or ENOENT (scheduler). */
export function encodeAddService(
  id: VirtualServerId,
  settings: VirtualServerSettings,
): GenericRequest {
  return ipvsRequest('newService', (writer) => writeService(writer, id, settings))
}

/** IPVS_CMD_SET_SERVICE, which may be refused with ESRCH or ENOENT (scheduler). Real servers and connections stay. */
export function encodeSetService(
  id: VirtualServerId,
  settings: VirtualServerSettings,
): GenericRequest {
  return ipvsRequest('setService', (writer) => writeService(writer, id, settings))
}

/** IPVS_CMD_DEL_SERVICE, with its real servers: ESRCH. */
export function encodeDeleteService(id: VirtualServerId): GenericRequest {
  return ipvsRequest('deleteService', (writer) => writeService(writer, id))
}

/**
 * IPVS_CMD_NEW_DEST, which may be refused with ESRCH (virtual server), EEXIST, ERANGE (weight, thresholds) or EINVAL
 * (address).
 */
export function encodeAddServer(id: VirtualServerId, server: RealServer): GenericRequest {
  return ipvsRequest('newServer', (writer) => {
    writeService(writer, id)
    writeServer(writer, server)
  })
}

/** IPVS_CMD_SET_DEST, which may be refused with ESRCH (virtual server), ENOENT or ERANGE (weight, thresholds). */
export function encodeSetServer(id: VirtualServerId, server: RealServer): GenericRequest {
  return ipvsRequest('setServer', (writer) => {
    writeService(writer, id)
    writeServer(writer, server)
  })
}

/** IPVS_CMD_DEL_DEST, which may be refused with ESRCH (virtual server) or ENOENT. */
export function encodeDeleteServer(id: VirtualServerId, server: RealServerId): GenericRequest {
  return ipvsRequest('deleteServer', (writer) => {
    writeService(writer, id)
    writeServerId(writer, server)
  })
}

/** IPVS_CMD_ZERO: the counters of one virtual server (ESRCH) or of all. */
export function encodeZero(id?: VirtualServerId): GenericRequest {
  return ipvsRequest('zero', (writer) => {
    if (id !== undefined) writeService(writer, id)
  })
}

/** IPVS_CMD_FLUSH: deletes every virtual server, foreign ones included. */
export function encodeFlush(): GenericRequest {
  return ipvsRequest('flush')
}
