import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backend } from '../../testing/mode-fixtures.ts'
import type { Balancing } from '../route.ts'
import { BackendState } from './backend-state.ts'
import { chooseBackend } from './selection.ts'
import { FakeSession } from './testing/worker-fixtures.ts'

function states(weights: readonly number[]): readonly BackendState[] {
  return weights.map((weight, index) => new BackendState(backend(`10.1.0.${index}`, { weight })))
}

function chooser(all: readonly BackendState[], balancing: Balancing = 'rr') {
  const pool = new Map(all.map((state) => [state.token, state]))
  return (tried: readonly BackendState[] = [], now = 0) =>
    chooseBackend({ pool, tried: new Set(tried), balancing, now })
}

function served(all: readonly BackendState[], clients: number): readonly number[] {
  const choose = chooser(all)
  const counts = new Map(all.map((state) => [state, 0]))
  for (let count = 0; count < clients; count++) {
    const state = choose()
    if (state) counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return [...counts.values()]
}

const weights = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 })

test('in every round each backend is served as often as its weight says', () => {
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 3 }), (each, rounds) => {
      const round = each.reduce((sum, weight) => sum + weight, 0)
      expect(served(states(each), round * rounds)).toEqual(each.map((weight) => weight * rounds))
    }),
  )
})

test('no backend is ever two clients away from its share, whichever is first', () => {
  const credits = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 12 })
  fc.assert(
    fc.property(weights, credits, fc.integer({ min: 0, max: 200 }), (each, begin, clients) => {
      const all = states(each)
      for (const [index, state] of all.entries()) {
        state.credit = (begin[index] ?? 0) * state.backend.weight
      }
      const round = each.reduce((sum, weight) => sum + weight, 0)
      for (const [index, count] of served(all, clients).entries()) {
        expect(Math.abs(count - (clients * (each[index] ?? 0)) / round)).toBeLessThan(2)
      }
    }),
  )
})

test('backends of equal weight are served in turn', () => {
  const all = states([2, 2, 2])
  const choose = chooser(all)
  expect([choose(), choose(), choose(), choose()]).toEqual([all[0], all[1], all[2], all[0]])
})

test('a heavy backend is not served in one go', () => {
  const all = states([2, 1])
  const choose = chooser(all)
  expect([choose(), choose(), choose()]).toEqual([all[0], all[1], all[0]])
})

test('least connections: no other backend has fewer clients for its weight', () => {
  const sessions = fc.array(fc.nat({ max: 5 }), { minLength: 12, maxLength: 12 })
  fc.assert(
    fc.property(weights, sessions, (each, loads) => {
      const all = states(each)
      for (const [index, state] of all.entries()) {
        for (let count = 0; count < (loads[index] ?? 0); count++) {
          state.sessions.add(new FakeSession())
        }
      }
      const load = ({ sessions: clients, backend: { weight } }: BackendState) =>
        clients.size / weight
      const chosen = chooser(all, 'lc')()
      expect(chosen && load(chosen)).toBe(Math.min(...all.map(load)))
    }),
  )
})

test('least connections: those with equally many are served in turn', () => {
  const all = states([1, 1, 1])
  const choose = chooser(all, 'lc')
  all[1]?.sessions.add(new FakeSession())
  expect([choose(), choose(), choose()]).toEqual([all[0], all[2], all[0]])
})

test('a backend that was tried is not tried again', () => {
  const all = states([1, 1])
  const choose = chooser(all)
  expect([choose(all.slice(0, 1)), choose(all.slice(1)), choose(all)]).toEqual([
    all[1],
    all[0],
    undefined,
  ])
})

test('a backend that is set aside is chosen only when no other is left', () => {
  const all = states([1, 1])
  const choose = chooser(all)
  all[0]?.failed(0)
  expect([choose(), choose(), choose(all.slice(1))]).toEqual([all[1], all[1], all[0]])
  expect(new Set([choose([], 1000), choose([], 1000)])).toEqual(new Set(all))
})
