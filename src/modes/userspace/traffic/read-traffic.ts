import type { ReadTraffic } from '../../mode.ts'
import type { Forwarder } from '../forwarder.ts'
import type { UserspaceProgram } from '../program.ts'
import { backendsOf, totalsOf } from './sum-routes.ts'

/** Asks all workers; a route without a connection costs them next to nothing. */
export function readTraffic(
  forwarder: Pick<Forwarder, 'routeTraffic'>,
  program: Pick<UserspaceProgram, 'entries'>,
): ReadTraffic {
  return async (isWanted) => {
    const counted = await forwarder.routeTraffic(isWanted !== undefined)
    const totals = totalsOf(counted)
    if (isWanted === undefined) return { totals, backends: new Map() }
    const wanted = [...program.entries()].filter(({ service }) => isWanted(service))
    return { totals, backends: backendsOf(counted, wanted) }
  }
}
