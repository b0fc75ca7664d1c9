import type { GenericRequest } from '../../netlink/generic.ts'
import type { VirtualServerId, VirtualServerSettings } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_NEW_SERVICE: EEXIST, ENOENT (scheduler). */
export function encodeAddService(
  id: VirtualServerId,
  settings: VirtualServerSettings,
): GenericRequest {
  return ipvsRequest('newService', (writer) => writeService(writer, id, settings))
}
