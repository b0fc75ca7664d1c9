import { expect, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import type { Route } from '../route.ts'
import { listenerKey } from '../worker/route-table.ts'
import { route } from '../worker/testing/worker-fixtures.ts'
import { WantedListeners } from './wanted-listeners.ts'

const [ONE, TWO] = ['shop/one:http/TCP/4', 'shop/two:http/TCP/4'] as EntryId[]

function routeAt(id: EntryId | undefined, ...ports: readonly number[]): Route {
  const [listener] = route().listeners
  return route({ id: id!, listeners: ports.map((port) => ({ ...listener!, port })) })
}

/** Applies one change after the other; returns what is opened and closed, as text. */
function planner() {
  const wanted = new WantedListeners()
  const plan = (
    ...changes: readonly (readonly [EntryId | undefined, ...(readonly number[])])[]
  ) => {
    const { open, close } = wanted.plan(
      new Map(
        changes.map(([id, ...ports]) => [id!, ports[0] === 0 ? undefined : routeAt(id, ...ports)]),
      ),
    )
    return [...open.map(({ port }) => `+${port}`), ...close.map(({ port }) => `-${port}`)]
  }
  return { wanted, plan }
}

test('only what changed is opened and closed', () => {
  const { plan } = planner()
  expect(plan([ONE, 80, 81])).toEqual(['+80', '+81'])
  expect(plan([ONE, 80, 82], [TWO, 90])).toEqual(['+82', '+90', '-81'])
  expect(plan([ONE, 80, 82])).toEqual([])
  expect(plan([ONE, 0])).toEqual(['-80', '-82'])
})

test('a listener stays open while any route wants it', () => {
  const { plan } = planner()
  plan([ONE, 80])
  expect(plan([TWO, 80])).toEqual([])
  expect(plan([ONE, 0])).toEqual([])
  expect(plan([TWO, 0], [ONE, 80])).toEqual([])
  expect(plan([ONE, 0])).toEqual(['-80'])
})

test('a refused listener is tried again with the next change of a route that wants it', () => {
  const { wanted, plan } = planner()
  plan([ONE, 80])
  const at = { protocol: 'TCP', ip: route().listeners[0]!.ip, port: 80 } as const
  expect(listenerKey(at)).toBe('TCP 10.96.0.1:80')
  expect(wanted.refuse(at)).toEqual([ONE])
  expect(plan([TWO, 90])).toEqual(['+90'])
  expect(plan([ONE, 80])).toEqual(['+80'])
})

test('all are closed at once, and can be opened again', () => {
  const { wanted, plan } = planner()
  plan([ONE, 80], [TWO, 90])
  expect(wanted.closeAll().map(({ port }) => port)).toEqual([80, 90])
  expect(wanted.closeAll()).toEqual([])
  expect(plan([ONE, 80])).toEqual(['+80'])
})
