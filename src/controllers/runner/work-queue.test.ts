import { beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { WorkQueue } from './work-queue.ts'

let clock: FakeClock
let queue: WorkQueue

beforeEach(() => {
  clock = new FakeClock()
  queue = new WorkQueue({ clock, onReady: () => undefined, backoffBaseMs: 5, backoffMaxMs: 80 })
})

test('gives each key once, in the order in which they came', () => {
  for (const key of ['b', 'a', 'b']) queue.add(key)
  expect(queue.depth).toBe(2)
  expect([queue.take(), queue.take(), queue.take()]).toEqual(['b', 'a', undefined])
})

test('a key that is being worked on waits until it is done', () => {
  queue.add('a')
  queue.take()
  queue.add('a')
  expect([queue.take(), queue.depth]).toEqual([undefined, 1])
  queue.done('a')
  expect(queue.take()).toBe('a')
})

test('a key that fails comes back after growing delays up to the limit, and after the first delay once it succeeded', async () => {
  for (const delay of [5, 10, 20, 40, 80, 80]) {
    queue.retry('a')
    expect(clock.pending()).toEqual([delay])
    await clock.advance(delay)
    expect(queue.take()).toBe('a')
    queue.done('a')
  }
  queue.forget('a')
  queue.retry('a')
  expect(clock.pending()).toEqual([5])
})

test('of two delays of a key the shorter counts, and add does not wait for either', () => {
  queue.addAfter('a', 50)
  queue.addAfter('a', 20)
  queue.addAfter('a', 90)
  expect(clock.pending()).toEqual([20])
  queue.add('a')
  expect([clock.pending(), queue.take()]).toEqual([[], 'a'])
})

test('a cleared queue has nothing left, and no timer', () => {
  queue.add('a')
  queue.addAfter('b', 5)
  queue.clear()
  expect([queue.take(), clock.pending()]).toEqual([undefined, []])
})

test('keys of greater priority are taken first, and each once, whatever its priority is later', () => {
  const priorities = new Map([
    ['low', -1],
    ['high', 7],
    ['also high', 7],
  ])
  queue = new WorkQueue({
    clock,
    onReady: () => undefined,
    priorityOf: (key) => priorities.get(key) ?? 0,
    backoffBaseMs: 5,
    backoffMaxMs: 80,
  })
  for (const key of ['low', 'usual', 'high', 'also high']) queue.add(key)
  priorities.set('low', 9)
  queue.add('low')
  const taken = [0, 1, 2, 3, 4].map(() => queue.take())
  expect(taken).toEqual(['high', 'also high', 'usual', 'low', undefined])
})
