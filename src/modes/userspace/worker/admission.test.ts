import { expect, test } from 'vitest'
import { cidr } from '../../testing/mode-fixtures.ts'
import { admit } from './admission.ts'
import { createOccupancy, Occupancy } from './occupancy.ts'
import { RouteTable } from './route-table.ts'
import { SessionTable } from './session-table.ts'
import { affinityTable, at, NO_CHANCE, newCounters, route } from './testing/worker-fixtures.ts'

function setUp(connections = 1) {
  const counters = newCounters()
  const routeTable = new RouteTable({ drainMs: 0, random: NO_CHANCE })
  const [listener] = route().listeners
  const listeners = [{ ...listener!, sourceRanges: [cidr('192.0.2.0/24')] }]
  routeTable.replace(route().id, route({ listeners }), 0)
  const limits = { connections, perClient: 1, idleMs: 0, udpIdleMs: 0, attempts: 1, retryMs: 1 }
  const sessionTable = new SessionTable({
    counters,
    occupancy: new Occupancy(createOccupancy(NO_CHANCE)),
    limits,
  })
  const parts = {
    routeTable,
    sessionTable,
    counters,
    limits,
    affinity: affinityTable(),
    aside: new Set<never>(),
    sharedTime: () => 0,
  }
  return {
    counters,
    come: (client: string, port = 80) => {
      const where = { client: at(client), destination: at('10.96.0.1', port) }
      return admit(parts, 'TCP', { side: 'others', ...where, now: 0 })
    },
  }
}

test('a client that may enter is to be served', () => {
  const { come } = setUp()
  expect(come('192.0.2.1')?.request.match.served.route.id).toBe(route().id)
})

test.each([
  ['unserved', '192.0.2.1', 81, 1],
  ['outsideRanges', '198.51.100.1', 80, 1],
  ['overLimit', '192.0.2.1', 80, 0],
] as const)('one that may not is counted: %s', (count, client, port, connections) => {
  const { come, counters } = setUp(connections)
  expect(come(client, port)).toBeUndefined()
  expect(counters.get(count)).toBe(1)
})
