import { hostPort, type IpAddress } from '../../../lib/ip.ts'
import type { RouteProtocol } from '../route.ts'

/** Where to listen. */
export interface DoorAddress {
  readonly protocol: RouteProtocol
  readonly ip: IpAddress
  readonly port: number
}

/** `TCP 127.0.0.1:80` */
export function doorKey({ protocol, ip, port }: DoorAddress): string {
  return `${protocol} ${hostPort(ip, port)}`
}
