import { hostPort, type IpAddress } from '../../../lib/ip.ts'
import type { RouteProtocol } from '../route.ts'

/** Where to listen. */
export interface ListenerAddress {
  readonly protocol: RouteProtocol
  readonly ip: IpAddress
  readonly port: number
}

/** `TCP 127.0.0.1:80` */
export function listenerKey({ protocol, ip, port }: ListenerAddress): string {
  return `${protocol} ${hostPort(ip, port)}`
}
