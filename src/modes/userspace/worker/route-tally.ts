import type { RouteTraffic, Tally } from '../traffic/route-traffic.ts'
import type { BackendState } from './backend-state.ts'
import type { RunningTally } from './running-tally.ts'
import type { ServedRoute } from './served-route.ts'
import type { Session } from './session.ts'

/** What a worker counted of a route; undefined: nothing. */
export function trafficOf(served: ServedRoute, withBackends: boolean): RouteTraffic | undefined {
  if (served.tally.connections === 0) return undefined
  const { id, service } = served.route
  const states = [...served.states()].filter(({ tally }) => tally.connections > 0)
  const sessions = states.flatMap((state) => [...state.sessions])
  return {
    ...{ id, service, total: tallyOf(served.tally, sessions) },
    backends: withBackends ? states.map(backendOf) : [],
  }
}

function backendOf(state: BackendState): RouteTraffic['backends'][number] {
  const { ip, port } = state.backend
  return { ip, port, ...tallyOf(state.tally, state.sessions) }
}

/** With what the present connections have moved so far. */
function tallyOf(ended: RunningTally, sessions: Iterable<Session>): Tally {
  let { bytesIn, bytesOut } = ended
  let connectionsNow = 0
  for (const session of sessions) {
    connectionsNow++
    bytesIn += session.bytesIn
    bytesOut += session.bytesOut
  }
  return { connections: ended.connections, connectionsNow, bytesIn, bytesOut }
}
