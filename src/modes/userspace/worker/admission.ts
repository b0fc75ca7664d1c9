import { hostKey, ipOf, type SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import { cidrContains } from '../../../lib/ip.ts'
import type { RouteListener, RouteProtocol } from '../route.ts'
import type { RouteTable } from './route-table.ts'
import { type ConnectionRequest, Selection, type SelectionParts } from './selection.ts'
import type { SessionTable } from './session-table.ts'

/** What `admit` decides by: the routes, the present sessions and the limits of a worker. */
export interface AdmissionParts extends SelectionParts {
  readonly routeTable: RouteTable
  readonly sessionTable: SessionTable
}

/**
 * Decides whether a new client is admitted. A client is rejected if no route has its destination, if it is outside of
 * the source ranges, or if a limit of sessions is reached.
 * @returns the selection of a backend for the client; undefined if it is rejected, which is counted by reason
 */
export function admit(
  parts: AdmissionParts,
  protocol: RouteProtocol,
  request: Omit<ConnectionRequest, 'match'>,
): Selection | undefined {
  const { routeTable, sessionTable, counters } = parts
  const match = routeTable.find(protocol, request.destination)
  if (match === undefined) counters.add('unserved')
  else if (!isInSourceRanges(match.listener, request.client)) counters.add('outsideRanges')
  else if (sessionTable.admit({ protocol, client: hostKey(request.client) }, request.now))
    return new Selection(parts, { ...request, match })
  return undefined
}

/**
 * Whether the Service admits this client. If rules of the kernel redirected the client here, they have already checked
 * its address.
 */
function isInSourceRanges({ sourceRanges }: RouteListener, client: SocketAddress): boolean {
  if (sourceRanges === undefined) return true
  const ip = ipOf(client)
  return sourceRanges.some((range) => cidrContains(range, ip))
}
