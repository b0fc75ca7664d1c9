import { hostKey, ipOf, type SocketAddress } from '../../../kernel/sockets/socket-address.ts'
import { cidrContains } from '../../../lib/ip.ts'
import type { RouteListener, RouteProtocol } from '../route.ts'
import type { RouteTable } from './route-table.ts'
import { type ConnectionRequest, Selection, type SelectionParts } from './selection.ts'
import type { SessionTable } from './session-table.ts'

/** What a worker decides admission by: routes, present sessions and limits. */
export interface AdmissionParts extends SelectionParts {
  readonly routeTable: RouteTable
  readonly sessionTable: SessionTable
}

/** The choice of a backend for an admitted client; undefined: rejected, and counted by its reason. */
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

/** Whether the Service admits this client. Rules that redirect have already checked it. */
function isInSourceRanges({ sourceRanges }: RouteListener, client: SocketAddress): boolean {
  if (sourceRanges === undefined) return true
  const ip = ipOf(client)
  return sourceRanges.some((range) => cidrContains(range, ip))
}
