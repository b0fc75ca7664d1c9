import type { GenericRequest } from '../../netlink/generic.ts'
import type { VirtualServerId, VirtualServerSettings } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_SET_SERVICE: ESRCH, ENOENT (scheduler). Real servers and connections stay. */
export function encodeSetService(
  id: VirtualServerId,
  settings: VirtualServerSettings,
): GenericRequest {
  return ipvsRequest('setService', (writer) => writeService(writer, id, settings))
}
