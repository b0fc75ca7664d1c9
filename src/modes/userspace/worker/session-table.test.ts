import { expect, test } from 'vitest'
import { systemRandom } from '../../../lib/random.ts'
import { createOccupancy, Occupancy } from './occupancy.ts'
import { SessionTable } from './session-table.ts'
import { FakeSession, newCounters } from './testing/worker-fixtures.ts'

const tcp = (client: string) => ({ protocol: 'TCP', client }) as const
const newOccupancy = () => new Occupancy(createOccupancy(systemRandom))
const LIMITS = { connections: 3, perClient: 2, idleMs: 1000, udpIdleMs: 100 }

function newBook(limits: Partial<typeof LIMITS> = {}, occupancy = newOccupancy()) {
  const counters = newCounters()
  const sessionTable = new SessionTable({ counters, occupancy, limits: { ...LIMITS, ...limits } })
  const enter = (client: string, protocol: 'TCP' | 'UDP' = 'TCP', lastActive = 0) => {
    const session = new FakeSession(protocol, {
      client,
      onAbort: (each) => sessionTable.remove(each),
    })
    session.lastActive = lastActive
    sessionTable.add(session)
    return session
  }
  return { sessionTable, counters, enter, occupancy }
}

test('sessions are counted by protocol, and removed once', () => {
  const { sessionTable, counters, enter } = newBook()
  const [tcp] = [enter('a'), enter('b', 'UDP')]
  sessionTable.remove(tcp)
  sessionTable.remove(tcp)
  const names = ['connections', 'connectionsNow', 'udpFlows', 'udpFlowsNow'] as const
  expect(names.map((name) => counters.get(name))).toEqual([1, 0, 1, 1])
  expect(sessionTable.size).toBe(1)
})

test('no client has more than its share, and all together not more than allowed', () => {
  const { sessionTable, counters, enter } = newBook()
  const mine = [enter('a'), enter('a')]
  expect([sessionTable.admit(tcp('a'), 10), sessionTable.admit(tcp('b'), 10)]).toEqual([
    false,
    true,
  ])
  enter('b')
  expect(sessionTable.admit(tcp('c'), 10)).toBe(false)
  expect(counters.get('overLimit')).toBe(2)
  for (const session of mine) sessionTable.remove(session)
  expect([sessionTable.admit(tcp('a'), 10), sessionTable.admit(tcp('c'), 10)]).toEqual([true, true])
})

test('workers share one limit', () => {
  const one = newBook()
  const two = newBook({}, one.occupancy)
  for (const client of ['a', 'b', 'c']) one.enter(client)
  expect(two.sessionTable.admit(tcp('d'), 10)).toBe(false)
})

test('a session that has been idle for half a minute is evicted', () => {
  const { sessionTable, counters, enter } = newBook()
  const [busy, idle] = [enter('a', 'TCP', 30_000), enter('b', 'TCP', 1), enter('c', 'TCP', 30_000)]
  expect(sessionTable.admit(tcp('d'), 30_000)).toBe(false)
  expect(sessionTable.admit(tcp('d'), 30_001)).toBe(true)
  expect([busy.isAborted, idle.isAborted, sessionTable.size]).toEqual([false, true, 2])
  expect([counters.get('evicted'), counters.get('overLimit')]).toEqual([1, 1])
})

test('only some sessions are examined for one new session, others for the next', () => {
  const { sessionTable, enter } = newBook({ connections: 20 })
  for (let count = 0; count < 19; count++) enter(`busy ${count}`, 'TCP', 60_000)
  const idle = enter('idle')
  const admitted = [1, 2, 3].map(() => sessionTable.admit(tcp('new'), 60_000))
  expect([admitted, idle.isAborted]).toEqual([[false, false, true], true])
})

test('idle sessions end by the timeout of their protocol', () => {
  const { sessionTable, enter } = newBook()
  const [tcp, udp] = [enter('a'), enter('b', 'UDP')]
  sessionTable.expire(99)
  expect(udp.isAborted).toBe(false)
  sessionTable.expire(999)
  expect([tcp.isAborted, udp.isAborted]).toEqual([false, true])
  sessionTable.expire(1000)
  expect([tcp.isAborted, sessionTable.size]).toEqual([true, 0])
})

test('without a timeout no session ends for being idle', () => {
  const { sessionTable, enter } = newBook({ idleMs: 0 })
  enter('a')
  sessionTable.expire(1e9)
  expect(sessionTable.size).toBe(1)
  sessionTable.abortAll()
  expect(sessionTable.size).toBe(0)
})

test('UDP flows take a quarter of the limit at most, and a new one evicts the oldest', () => {
  const { sessionTable, enter, counters } = newBook({ connections: 8, perClient: 8 })
  const [oldest] = [enter('a', 'UDP', 10), enter('b', 'UDP', 10)]
  expect(sessionTable.admit({ protocol: 'UDP', client: 'c' }, 10)).toBe(true)
  expect([oldest.isAborted, counters.get('evicted')]).toEqual([true, 1])
  for (let count = 0; count < 7; count++) enter(`d ${count}`)
  expect(sessionTable.admit(tcp('e'), 10)).toBe(true)
})
