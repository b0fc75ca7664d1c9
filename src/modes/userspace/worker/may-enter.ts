import { ipOf, type SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import { cidrContains } from '../../../lib/ip.ts'
import type { RouteListener } from '../route.ts'

/** Whether the Service admits this client. Rules that redirect have already checked it. */
export function mayEnter({ sourceRanges }: RouteListener, client: SocketAddress): boolean {
  if (sourceRanges === undefined) return true
  const ip = ipOf(client)
  return sourceRanges.some((range) => cidrContains(range, ip))
}
