import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import type { ReadTraffic } from '../../mode.ts'
import type { RouteTraffic } from './route-traffic.ts'
import { backendsOf, totalsOf } from './sum-routes.ts'

/** The forwarder that counts, and what is forwarded. */
interface Sources {
  readonly forwarder: { routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> }
  readonly program: { entries(): Iterable<ForwardingEntry> }
}

/** Requests the counts of all workers; a route without a connection costs them next to nothing. */
export function readTraffic({ forwarder, program }: Sources): ReadTraffic {
  return async (isWanted) => {
    const counted = await forwarder.routeTraffic(isWanted !== undefined)
    const totals = totalsOf(counted)
    if (isWanted === undefined) return { totals, backends: new Map() }
    const wanted = [...program.entries()].filter(({ service }) => isWanted(service))
    return { totals, backends: backendsOf(counted, wanted) }
  }
}
