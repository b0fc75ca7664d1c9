import type { GenericRequest } from '../../netlink/generic.ts'
import type { VirtualServerId } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_ZERO: the counters of one virtual server (ESRCH) or of all. */
export function encodeZero(id?: VirtualServerId): GenericRequest {
  return ipvsRequest('zero', (writer) => {
    if (id !== undefined) writeService(writer, id)
  })
}
