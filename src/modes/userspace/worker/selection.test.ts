import { expect, test } from 'vitest'
import { backend } from '../../testing/mode-fixtures.ts'
import type { Route } from '../route.ts'
import { Selection } from './selection.ts'
import { affinityTable, at, newCounters, served } from './testing/worker-fixtures.ts'

const THREE = [backend('10.1.0.1'), backend('10.1.0.2'), backend('10.1.0.3')]

function setUp(overrides: Partial<Route> = {}) {
  const target = served({ pools: { cluster: THREE, local: THREE.slice(1, 2) }, ...overrides })
  const limits = { attempts: 3, retryMs: 1000 }
  const counters = newCounters()
  const shared = { time: 0 }
  const parts = {
    affinity: affinityTable(),
    counters,
    aside: new Set<never>(),
    limits,
    sharedTime: () => shared.time,
  }
  const [listener] = target.route.listeners
  const request = (now: number, client = '192.0.2.1', side: 'pods' | 'others' = 'others') => {
    shared.time = now
    const match = {
      served: target,
      listener: { ...listener!, pools: { pods: 'cluster', others: 'local' } },
    } as const
    const where = { destination: at('10.96.0.1'), client: at(client, 40_000) }
    return new Selection(parts, { match, side, ...where, now })
  }
  return {
    target,
    counters,
    limits,
    parts,
    come: (now: number, client?: string) => request(now, client, 'pods'),
    request,
  }
}

const isChosen = (state: ReturnType<Selection['next']>) => state !== undefined
const ipOf = (state: ReturnType<Selection['next']>) => state?.backend.ip

test('a client is sent to one backend after the other, to none twice', () => {
  const { come, counters, parts } = setUp()
  const selection = come(0)
  const tried = [selection.next(0), selection.next(1), selection.next(2), selection.next(3)]
  expect(tried.map(ipOf)).toEqual(['10.1.0.1', '10.1.0.2', '10.1.0.3', undefined])
  for (const state of tried) if (state) selection.failed(state, 3)
  expect([counters.get('connectFailures'), counters.get('connectRetries')]).toEqual([3, 2])
  expect(parts.aside.size).toBe(3)
})

test('each side has its pool', () => {
  const { request } = setUp()
  expect(ipOf(request(0).next(0))).toBe('10.1.0.2')
  expect(request(0).next(0)?.backend).toBe(THREE[1])
})

test('no more backends are tried than allowed, and none after the deadline', () => {
  const { come, limits } = setUp()
  const slow = come(0)
  expect([slow.next(5000), slow.next(999), slow.next(1000)].map(isChosen)).toEqual([
    true,
    true,
    false,
  ])
  limits.attempts = 2
  const quick = come(0)
  expect([quick.next(0), quick.next(0), quick.next(0)].map(isChosen)).toEqual([true, true, false])
})

test('a backend that failed gets no clients until its pause is over', () => {
  const { come } = setUp({ pools: { cluster: THREE.slice(0, 2), local: [] } })
  const selection = come(0)
  const failing = selection.next(0)
  if (failing) selection.failed(failing, 0)
  expect([ipOf(selection.next(0)), ipOf(come(1).next(1)), ipOf(come(2).next(2))]).toEqual([
    '10.1.0.2',
    '10.1.0.2',
    '10.1.0.2',
  ])
  expect(new Set([come(1000).next(1000), come(1000).next(1000)]).size).toBe(2)
})

test('with affinity a client comes back to its last backend', () => {
  const { come } = setUp({ affinity: { seconds: 10 } })
  const selection = come(0)
  selection.next(0)
  const taken = selection.next(0)
  expect(ipOf(come(9999).next(9999))).toBe(ipOf(taken))
  expect(ipOf(come(9999, '192.0.2.2').next(9999))).not.toBe(ipOf(taken))
  const late = [19_999, 29_999, 39_999].map((now) => ipOf(come(now).next(now)))
  expect(new Set(late).size).toBeGreaterThan(1)
})

test('a backend that is set aside loses its client to the one that takes it', () => {
  const { come } = setUp({ affinity: { seconds: 10 } })
  const first = come(0)
  const old = first.next(0)
  if (old) first.failed(old, 100)
  const second = come(200)
  const successor = second.next(200)
  expect(ipOf(successor)).not.toBe(ipOf(old))
  expect(ipOf(come(5000).next(5000))).toBe(ipOf(successor))
})

test('without affinity no client is remembered', () => {
  const { come, parts } = setUp()
  const selection = come(0)
  const taken = selection.next(0)
  expect(parts.affinity.size).toBe(0)
  expect(ipOf(come(1).next(1))).not.toBe(ipOf(taken))
})
