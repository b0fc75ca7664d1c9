import { ipOf, type SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import { cidrContains } from '../../../lib/ip.ts'
import type { RouteListener } from '../route.ts'

/** Whether the Service lets this client in. Where rules redirect, they have asked before. */
export function mayEnter({ sourceRanges }: RouteListener, client: SocketAddress): boolean {
  if (sourceRanges === undefined) return true
  const ip = ipOf(client)
  return sourceRanges.some((range) => cidrContains(range, ip))
}
