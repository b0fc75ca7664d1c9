import { expect, test } from 'vitest'
import { createBackoff } from './backoff.ts'

const least = { below: () => 0 }
const most = { below: (bound: number) => bound - 1 }

test('the delay doubles up to its maximum, and lies between half of it and the whole', () => {
  const short = createBackoff({ random: least, baseMs: 200, maxMs: 1000 })
  const long = createBackoff({ random: most, baseMs: 200, maxMs: 1000 })
  expect([1, 2, 3, 4, 5].map(() => short.next())).toEqual([100, 200, 400, 500, 500])
  expect([1, 2, 3, 4, 5].map(() => long.next())).toEqual([200, 400, 800, 1000, 1000])
})

test('one delay may have a smaller maximum, and the next ones go on growing', () => {
  const backoff = createBackoff({ random: most, baseMs: 200, maxMs: 10_000 })
  expect([300, 300, 300].map((mostMs) => backoff.next(mostMs))).toEqual([200, 300, 300])
  expect(backoff.next()).toBe(1600)
})

test('after reset the delay is the first one again', () => {
  const backoff = createBackoff({ random: least, baseMs: 200, maxMs: 1000 })
  backoff.next()
  backoff.next()
  backoff.reset()
  expect(backoff.next()).toBe(100)
})

test('after very many attempts the delay is the maximum', () => {
  const backoff = createBackoff({ random: most, baseMs: 200, maxMs: 1000 })
  for (let attempt = 0; attempt < 5000; attempt++) backoff.next()
  expect(backoff.next()).toBe(1000)
})
