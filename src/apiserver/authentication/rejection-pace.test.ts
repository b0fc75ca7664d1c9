import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { RejectionPace } from './request-identity.ts'

/** A pace, and how many of the rejections so far are answered. */
function paced() {
  const clock = new FakeClock()
  const pace = new RejectionPace(clock)
  let answered = 0
  const reject = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) void pace.wait().then(() => answered++)
    await clock.advance(0)
  }
  return { clock, reject, answered: () => answered }
}

test('few rejections are answered at once, many of them 500 in a second', async () => {
  const { clock, reject, answered } = paced()
  await reject(200)
  expect(answered()).toBe(200)
  await reject(1000)
  const atOnce = answered()
  expect(atOnce).toBeLessThan(205)
  await clock.advance(1000)
  expect(Math.abs(answered() - atOnce - 500)).toBeLessThan(3)
  await clock.advance(1100)
  expect(answered()).toBe(1200)
})

test('after a pause as many are answered at once again', async () => {
  const { clock, reject, answered } = paced()
  await reject(1000)
  await clock.advance(60_000)
  await reject(200)
  expect(answered()).toBe(1200)
})

test('no rejection waits for more than ten seconds', () => {
  const waits: number[] = []
  const after = (ms: number) => {
    waits.push(ms)
    return () => undefined
  }
  const pace = new RejectionPace({ now: () => 1000, after })
  for (let index = 0; index < 20_000; index++) void pace.wait()
  expect(waits).toHaveLength(19_799)
  expect(Math.max(...waits)).toBe(10_000)
})
