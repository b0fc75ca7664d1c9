import { expect, test } from 'vitest'
import { redirected } from '../../../test/support/modes/fake-userspace-node.ts'
import type { EntryId } from '../../forwarding/entry.ts'
import { entry, frontend } from '../testing/mode-fixtures.ts'
import { ForwarderState, SERVED_IN_PART } from './forwarder-state.ts'
import { digestRoute, entryKey, render } from './render.ts'
import { FakeForwarder } from './testing/fake-forwarder.ts'

function routeAt(name: string, port: number) {
  const one = entry({ id: name as EntryId, frontends: [frontend({ port })] })
  const { route } = render(one, redirected())!
  return { key: entryKey(one.id), route }
}

test('an applied route is known by its digest, until it is removed', async () => {
  const forwarder = new FakeForwarder()
  const forwarderState = new ForwarderState(forwarder)
  const { key, route } = routeAt('a', 80)
  expect(await forwarderState.apply(new Map([[key, route]]))).toEqual(new Map())
  expect([...forwarderState.digests]).toEqual([[key, digestRoute(route)]])
  expect([...forwarder.routes.values()]).toEqual([route])
  await forwarderState.apply(new Map([[key, undefined]]))
  expect([forwarderState.digests.size, forwarder.routes.size]).toEqual([0, 0])
})

test('the first call reaches the forwarder even without a route, later ones do not', async () => {
  const forwarder = new FakeForwarder()
  const forwarderState = new ForwarderState(forwarder)
  for (let call = 0; call < 2; call++)
    expect(await forwarderState.apply(new Map())).toEqual(new Map())
  expect(forwarder.applied).toEqual([[]])
})

test('a listener may go from one route to another in one call, and two routes cannot have it', async () => {
  const forwarder = new FakeForwarder()
  const forwarderState = new ForwarderState(forwarder)
  const [a, b] = [routeAt('a', 80), routeAt('b', 80)]
  await forwarderState.apply(new Map([[a.key, a.route]]))
  const refused = await forwarderState.apply(new Map([[b.key, b.route]]))
  expect([...refused.keys()]).toEqual([b.key])
  expect([...forwarderState.digests]).toEqual([
    [a.key, digestRoute(a.route)],
    [b.key, SERVED_IN_PART],
  ])
  const swap = new Map([
    [b.key, b.route],
    [a.key, undefined],
  ])
  expect(await forwarderState.apply(swap)).toEqual(new Map())
  expect([...forwarderState.digests.keys()]).toEqual([b.key])
})

test('a route that is refused is known as served in part, until it is removed', async () => {
  const forwarder = new FakeForwarder()
  const forwarderState = new ForwarderState(forwarder)
  const { key, route } = routeAt('a', 80)
  await forwarderState.apply(new Map([[key, route]]))
  forwarder.taken.add('TCP 172.30.0.41 81')
  const listeners = [...route.listeners, ...routeAt('a', 81).route.listeners]
  await forwarderState.apply(new Map([[key, { ...route, listeners }]]))
  expect([...forwarderState.digests]).toEqual([[key, SERVED_IN_PART]])
  expect([...forwarder.routes.values()]).toEqual([route])
  await forwarderState.apply(new Map([[key, undefined]]))
  expect([forwarderState.digests.size, forwarder.routes.size]).toEqual([0, 0])
})
