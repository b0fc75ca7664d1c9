import { type SocketAddress, socketAddress } from '../../../../kernel/sockets/socket-address.ts'
import { parseIp } from '../../../../lib/ip.ts'

/** Of a peer as Node names it: `fe80::1%eth0`, or undefined when it has gone already. */
export function peerAddress(text = '', port = 0): SocketAddress | undefined {
  const zone = text.indexOf('%')
  const ip = parseIp(zone < 0 ? text : text.slice(0, zone))
  return ip && socketAddress(ip, port)
}
