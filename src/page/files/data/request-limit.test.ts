import { expect, test } from 'vitest'
import { RequestLimit } from './cluster-api.ts'

const { signal } = new AbortController()

test('so many tasks run at once, in order, also after one that failed', async () => {
  const limit = new RequestLimit(3)
  let [running, most] = [0, 0]
  const order: number[] = []
  const task = (index: number) => async (): Promise<number> => {
    order.push(index)
    running++
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve))
    running--
    if (index === 1) throw new Error('refused')
    return index
  }
  const indexes = Array.from({ length: 12 }, (_, index) => index)
  const results = await Promise.allSettled(indexes.map((index) => limit.run(task(index), signal)))
  expect(most).toBe(3)
  expect(order).toEqual(indexes)
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
})

test('one that is given up before its turn never runs, and its turn passes to the next', async () => {
  const limit = new RequestLimit(1)
  const first = Promise.withResolvers<string>()
  const running = limit.run(() => first.promise, signal)
  const abandoned = new AbortController()
  let ran = false
  const waiting = limit.run(async () => void (ran = true), abandoned.signal)
  const next = limit.run(async () => 'next', signal)
  abandoned.abort(new Error('left'))
  await expect(waiting).rejects.toThrow('left')
  first.resolve('first')
  expect([await running, await next, ran]).toEqual(['first', 'next', false])
})

test('a stream takes its turn until it ends, or is left', async () => {
  const limit = new RequestLimit(1)
  async function* numbers() {
    yield 1
    yield 2
  }
  for await (const one of limit.stream(numbers, signal)) {
    expect(one).toBe(1)
    break
  }
  const seen: number[] = []
  for await (const one of limit.stream(numbers, signal)) seen.push(one)
  expect(seen).toEqual([1, 2])
})
