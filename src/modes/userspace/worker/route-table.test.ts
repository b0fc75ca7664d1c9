import { expect, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import { ip } from '../../testing/mode-fixtures.ts'
import { RouteTable } from './route-table.ts'
import { at, DRAIN_MS, FakeSession, NO_CHANCE, route } from './testing/worker-fixtures.ts'

const LISTENER = at('10.96.0.1')
const [first] = route().listeners
const OTHER = 'shop/other:http/TCP/4' as EntryId

function newRouteTable() {
  const routeTable = new RouteTable({ drainMs: DRAIN_MS, random: NO_CHANCE })
  const id = (protocol: 'TCP' | 'UDP' = 'TCP', listener = LISTENER) =>
    routeTable.find(protocol, listener)?.served.route.id
  return { routeTable, id }
}

test('a route is found by protocol, address and port', () => {
  const { routeTable, id } = newRouteTable()
  const six = { ...first!, ip: ip('fd00::1') }
  routeTable.replace(route().id, route({ listeners: [first!, six] }), 0)
  expect(id()).toBe(route().id)
  expect(id('TCP', at('fd00::1'))).toBe(route().id)
  expect([id('UDP'), id('TCP', at('10.96.0.1', 81)), id('TCP', at('10.96.0.2'))]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(routeTable.find('TCP', LISTENER)?.listener).toBe(first)
})

test('listeners come and go with changes, the state stays', () => {
  const { routeTable, id } = newRouteTable()
  routeTable.replace(route().id, route(), 0)
  const before = routeTable.find('TCP', LISTENER)?.served
  routeTable.replace(route().id, route({ listeners: [{ ...first!, port: 81 }] }), 0)
  expect(id()).toBeUndefined()
  expect(routeTable.find('TCP', at('10.96.0.1', 81))?.served).toBe(before)
  routeTable.replace(route().id, undefined, 0)
  expect(id('TCP', at('10.96.0.1', 81))).toBeUndefined()
})

test.each([[true], [false]])(
  'a listener passes to another route, which is added first: %s',
  (isFirst) => {
    const { routeTable, id } = newRouteTable()
    routeTable.replace(route().id, route(), 0)
    const steps = [
      () => routeTable.replace(OTHER, route({ id: OTHER }), 0),
      () => routeTable.replace(route().id, undefined, 0),
    ]
    for (const step of isFirst ? steps : steps.toReversed()) step()
    expect(id()).toBe(OTHER)
  },
)

test('a route that left is remembered as long as it has clients', () => {
  const { routeTable } = newRouteTable()
  routeTable.replace(route().id, route(), 0)
  const served = routeTable.find('TCP', LISTENER)?.served
  const [state] = served?.states() ?? []
  state?.sessions.add(new FakeSession())
  routeTable.replace(route().id, undefined, 10)
  expect([...routeTable.draining()]).toEqual([state])
  routeTable.replace(route().id, route(), 20)
  expect(routeTable.find('TCP', LISTENER)?.served).toBe(served)
  expect([...routeTable.draining()]).toEqual([])
})

test('one whose last client left is forgotten', () => {
  const { routeTable } = newRouteTable()
  routeTable.replace(route().id, route(), 0)
  const served = routeTable.find('TCP', LISTENER)?.served
  const [state] = served?.states() ?? []
  state?.sessions.add(new FakeSession())
  routeTable.replace(route().id, undefined, 10)
  state?.sessions.clear()
  routeTable.sweep()
  routeTable.replace(route().id, route(), 20)
  expect(routeTable.find('TCP', LISTENER)?.served).not.toBe(served)
})
