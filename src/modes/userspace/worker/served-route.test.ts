import { expect, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import { backend } from '../../testing/mode-fixtures.ts'
import type { BackendState } from './backend-state.ts'
import type { ServedRoute } from './served-route.ts'
import { DRAIN_MS, FakeSession, route, served } from './testing/worker-fixtures.ts'

const [one, two] = [backend('10.1.0.1'), backend('10.1.0.2')]

function change(target: ServedRoute, backends: readonly (typeof one)[], now: number) {
  target.update(route({ ...target.route, pools: { cluster: backends, local: [] } }), now)
}

function stateOf(target: ServedRoute, { ip }: typeof one): BackendState {
  const found = [...target.states()].find(({ backend: each }) => each.ip === ip)
  if (found === undefined) throw new TypeError(`no state of ${ip}`)
  return found
}

test('pools hold backends by token, one state for both', () => {
  const target = served({ pools: { cluster: [one, two], local: [one] } })
  const state = stateOf(target, one)
  expect([...target.pool('local').entries()]).toEqual([[state.token, state]])
  expect([...target.pool('cluster').values()]).toEqual([state, stateOf(target, two)])
})

test('what is known of a backend outlives changes of the route and of its weight', () => {
  const target = served()
  const state = stateOf(target, one)
  state.failed(0)
  change(target, [{ ...one, weight: 5 }, two], 10)
  expect(stateOf(target, one)).toBe(state)
  expect([state.backend.weight, state.isAside(20)]).toEqual([5, true])
})

test('a backend without clients is forgotten when it leaves', () => {
  const target = served()
  change(target, [two], 10)
  expect([...target.states()].map(({ backend: { ip } }) => ip)).toEqual([two.ip])
  expect(target.isDraining).toBe(false)
})

test('a backend with clients gets no new ones, and time, which a further change does not prolong', () => {
  const target = served()
  const state = stateOf(target, one)
  state.sessions.add(new FakeSession())
  change(target, [two], 10)
  change(target, [two], 500)
  expect(target.pool('cluster').has(state.token)).toBe(false)
  expect([target.isDraining, state.leavesAt]).toEqual([true, 10 + DRAIN_MS])
  state.sessions.clear()
  target.sweep()
  expect([...target.states()]).toEqual([stateOf(target, two)])
})

test('one that comes back stays, and its time begins anew when it leaves again', () => {
  const target = served()
  const state = stateOf(target, one)
  state.sessions.add(new FakeSession())
  change(target, [two], 10)
  change(target, [one, two], 20)
  expect([state.leavesAt, target.isDraining]).toEqual([undefined, false])
  expect(target.pool('cluster').get(state.token)).toBe(state)
  change(target, [two], 30)
  expect(state.leavesAt).toBe(30 + DRAIN_MS)
})

test('weight 0 is as good as gone', () => {
  const target = served()
  stateOf(target, one).sessions.add(new FakeSession())
  change(target, [{ ...one, weight: 0 }, two], 10)
  expect([target.pool('cluster').size, stateOf(target, one).leavesAt]).toEqual([1, 10 + DRAIN_MS])
})

test('clients of UDP do not stay with a backend that left', () => {
  const target = served({ protocol: 'UDP' })
  stateOf(target, one).sessions.add(new FakeSession('UDP'))
  change(target, [two], 10)
  expect(stateOf(target, one).leavesAt).toBe(10)
})

test('with the route all of its backends leave', () => {
  const target = served()
  stateOf(target, one).sessions.add(new FakeSession())
  target.drain(10)
  expect([...target.states()].map(({ leavesAt }) => leavesAt)).toEqual([10 + DRAIN_MS])
  expect([target.pool('cluster').size, target.isEmpty]).toEqual([0, false])
})

test('routes that share their clients have one group and a token for each Pod, whatever its port', () => {
  const sharing = (id: string, port: number, isShared?: true) => {
    const affinity = { seconds: 60, ...(isShared && { isShared }) }
    const pools = { cluster: [backend('10.1.0.1', { port })], local: [] }
    const target = served({ id: id as EntryId, affinity, pools })
    return [target.group, ...target.pool('cluster').keys()]
  }
  const http = sharing('shop/cart:http/TCP/4', 8080, true)
  expect(sharing('shop/cart:admin/TCP/4', 9090, true)).toEqual(http)
  const alone = sharing('shop/cart:http/TCP/4', 8080)
  expect(alone.filter((number) => http.includes(number))).toEqual([])
  expect(sharing('shop/cart:admin/TCP/4', 9090)).not.toEqual(alone)
})

test('a route that begins to share its clients keeps its connections', () => {
  const target = served({ affinity: { seconds: 60 } })
  const state = stateOf(target, one)
  state.sessions.add(new FakeSession())
  const [group, token] = [target.group, state.token]
  target.update(route({ ...target.route, affinity: { seconds: 60, isShared: true } }), 10)
  expect(stateOf(target, one)).toBe(state)
  expect([target.group === group, state.token === token]).toEqual([false, false])
  expect(target.pool('cluster').get(state.token)).toBe(state)
})
