import { hostKey } from '../../../kernel/sockets/socket-address.ts'
import type { RouteProtocol } from '../route.ts'
import type { Switchboard } from './route-table.ts'
import { type Knock, Selection, type SelectionParts } from './selection.ts'
import type { SessionBook } from './session-book.ts'
import { mayEnter } from './source-ranges.ts'

export interface AdmissionParts extends SelectionParts {
  readonly switchboard: Switchboard
  readonly book: SessionBook
}

/** Lets a client in, or counts why not: undefined. */
export function admit(
  parts: AdmissionParts,
  protocol: RouteProtocol,
  visitor: Omit<Knock, 'entrance'>,
): Selection | undefined {
  const { switchboard, book, counters } = parts
  const entrance = switchboard.find(protocol, visitor.destination)
  if (entrance === undefined) counters.add('unserved')
  else if (!mayEnter(entrance.door, visitor.client)) counters.add('outsideRanges')
  else if (book.admit({ protocol, client: hostKey(visitor.client) }, visitor.now))
    return new Selection(parts, { ...visitor, entrance })
  return undefined
}
