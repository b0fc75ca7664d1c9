import type { GenericRequest } from '../../netlink/generic.ts'
import type { VirtualServerId } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_DEL_SERVICE, with its real servers: ESRCH. */
export function encodeDeleteService(id: VirtualServerId): GenericRequest {
  return ipvsRequest('deleteService', (writer) => writeService(writer, id))
}
