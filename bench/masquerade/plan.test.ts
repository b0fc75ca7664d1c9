import { expect, test } from 'vitest'
import { nextOrder, ordersOf } from './plan.ts'

const ORDERS = ordersOf({
  rates: [20, 500],
  clients: [1, 2],
  binds: [false, true],
  seconds: 180,
  subjects: ['a', 'b'],
})

test('fast loads come first, and a process measures all loads of a rate', () => {
  expect(ORDERS.map(({ subject, loads }) => [subject, loads[0]?.perSecond])).toEqual([
    ['a', 500],
    ['b', 500],
    ['a', 20],
    ['b', 20],
  ])
  expect(ORDERS[0]?.loads.map(({ clients, binds }) => [clients, binds])).toEqual([
    [1, false],
    [2, false],
    [1, true],
    [2, true],
  ])
})

test('a slow process may overtake fast ones that do not fit', () => {
  const [first, ...rest] = ORDERS
  const running = first ? [first] : []
  const limits = { processes: 2, perSecond: 600 }
  expect(nextOrder(rest, running, limits)).toBe(ORDERS[2])
  expect(nextOrder(rest, running, { ...limits, perSecond: 519 })).toBeUndefined()
  expect(nextOrder(rest, running, { ...limits, processes: 1 })).toBeUndefined()
})

test('a process above the limit runs alone', () => {
  expect(nextOrder(ORDERS, [], { processes: 1, perSecond: 100 })).toBe(ORDERS[0])
  expect(nextOrder([], [], { processes: 1, perSecond: 100 })).toBeUndefined()
})
