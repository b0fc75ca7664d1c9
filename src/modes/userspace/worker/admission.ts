import { hostKey } from '../../../kernel/sockets/socket-address.ts'
import type { RouteProtocol } from '../route.ts'
import { mayEnter } from './may-enter.ts'
import type { RouteTable } from './route-table.ts'
import { type ConnectionRequest, Selection, type SelectionParts } from './selection.ts'
import type { SessionBook } from './session-book.ts'

export interface AdmissionParts extends SelectionParts {
  readonly routeTable: RouteTable
  readonly book: SessionBook
}

/** Lets a client in, or counts why not: undefined. */
export function admit(
  parts: AdmissionParts,
  protocol: RouteProtocol,
  visitor: Omit<ConnectionRequest, 'match'>,
): Selection | undefined {
  const { routeTable, book, counters } = parts
  const match = routeTable.find(protocol, visitor.destination)
  if (match === undefined) counters.add('unserved')
  else if (!mayEnter(match.listener, visitor.client)) counters.add('outsideRanges')
  else if (book.admit({ protocol, client: hostKey(visitor.client) }, visitor.now))
    return new Selection(parts, { ...visitor, match })
  return undefined
}
