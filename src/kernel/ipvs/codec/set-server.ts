import type { GenericRequest } from '../../netlink/generic.ts'
import type { RealServer, VirtualServerId } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeServer } from './server.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_SET_DEST: ESRCH (virtual server), ENOENT, ERANGE (weight, thresholds). */
export function encodeSetServer(id: VirtualServerId, server: RealServer): GenericRequest {
  return ipvsRequest('setServer', (writer) => {
    writeService(writer, id)
    writeServer(writer, server)
  })
}
