import type { GenericRequest } from '../../netlink/generic.ts'
import { ipvsRequest } from './family.ts'

/** IPVS_CMD_FLUSH: deletes every virtual server, whoever made it. */
export function encodeFlush(): GenericRequest {
  return ipvsRequest('flush')
}
