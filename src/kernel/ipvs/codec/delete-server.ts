import type { GenericRequest } from '../../netlink/generic.ts'
import type { RealServerId, VirtualServerId } from '../ipvs.ts'
import { ipvsRequest } from './family.ts'
import { writeServerId } from './server.ts'
import { writeService } from './service.ts'

/** IPVS_CMD_DEL_DEST: ESRCH (virtual server), ENOENT. */
export function encodeDeleteServer(id: VirtualServerId, server: RealServerId): GenericRequest {
  return ipvsRequest('deleteServer', (writer) => {
    writeService(writer, id)
    writeServerId(writer, server)
  })
}
