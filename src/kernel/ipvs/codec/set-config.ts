import type { GenericRequest } from '../../netlink/generic.ts'
import type { IpvsTimeouts } from '../ipvs.ts'
import { CMD_ATTR, ipvsRequest } from './family.ts'

/** IPVS_CMD_SET_CONFIG: EINVAL. What is absent or 0 stays as it is. */
export function encodeSetConfig({ tcp, tcpFin, udp }: Partial<IpvsTimeouts>): GenericRequest {
  return ipvsRequest('setConfig', (writer) => {
    if (tcp !== undefined) writer.u32(CMD_ATTR.timeoutTcp, tcp)
    if (tcpFin !== undefined) writer.u32(CMD_ATTR.timeoutTcpFin, tcpFin)
    if (udp !== undefined) writer.u32(CMD_ATTR.timeoutUdp, udp)
  })
}
