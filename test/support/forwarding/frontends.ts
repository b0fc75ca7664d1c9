import type { EntryId, ServiceKey } from '../../../src/forwarding/entry.ts'
import { backend, ip } from '../../../src/modes/testing/mode-fixtures.ts'
import type { Route } from '../../../src/modes/userspace/route.ts'
import { ORDERS, type Order } from './order.ts'
import { backendAddress, FRONTEND } from './stage.ts'

/** The ports of the frontends and of each backend: one for each order of speaking. */
export const FRONTEND_PORTS = { both: 81, client: 82, server: 83 } as const
export const BACKEND_PORTS = { both: 8081, client: 8082, server: 8083 } as const
/** The port of an echoing backend. */
export const ECHO_PORT = 8080

/** A route with one frontend and some backends; a test adds what it needs. */
export function routeTo(
  port: number,
  backends: Route['pools']['cluster'],
  overrides: Partial<Route> = {},
): Route {
  return {
    id: `test/listener:${port}` as EntryId,
    service: 'test/listener' as ServiceKey,
    protocol: 'TCP',
    family: 4,
    listeners: [
      {
        ip: ip(FRONTEND),
        port,
        pools: { pods: 'cluster', others: 'cluster' },
        sourceRanges: undefined,
      },
    ],
    pools: { cluster: backends, local: [] },
    balancing: 'rr',
    affinity: undefined,
    proxyProtocol: undefined,
    ...overrides,
  }
}

/** One route for each order of speaking. If clients speak first, the forwarder announces them to backends. */
export function routesForAllOrders(backends: readonly number[]): readonly Route[] {
  const routeFor = (order: Order) => {
    const port = BACKEND_PORTS[order]
    const proxyProtocol = order === 'client' ? 'v1' : undefined
    const members = backends.map((index) => backend(backendAddress(index), { port }))
    return routeTo(FRONTEND_PORTS[order], members, { proxyProtocol })
  }
  return ORDERS.map(routeFor)
}
