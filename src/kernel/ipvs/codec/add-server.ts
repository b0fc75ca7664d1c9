import type { GenericRequest } from '../../netlink/generic.ts'
import type { RealServer, VirtualServerId } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeServer } from './server.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_NEW_DEST: ESRCH (virtual server), EEXIST, ERANGE (weight, thresholds), EINVAL (address). */
export function encodeAddServer(id: VirtualServerId, server: RealServer): GenericRequest {
  return ipvsRequest('newServer', (writer) => {
    writeService(writer, id)
    writeServer(writer, server)
  })
}
