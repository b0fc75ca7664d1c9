import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { InFlightLimits, type Slot } from './in-flight-limits.ts'

const USER = { client: 'user', isSystem: false }
const OTHER = { client: 'other', isSystem: false }
const SYSTEM = { client: 'system', isSystem: true }

function started(inFlight: number) {
  const clock = new FakeClock()
  const limits = new InFlightLimits({
    clock,
    waitMs: 15_000,
    inFlight: { readOnly: inFlight, mutating: inFlight },
  })
  return { clock, limits }
}

test('a request waits while every slot is taken, and runs when one is released', async () => {
  const { limits } = started(3)
  const first = limits.acquire('readOnly', USER) as Slot
  void limits.acquire('readOnly', USER)
  const third = limits.acquire('readOnly', USER)
  expect(limits.load('readOnly')).toEqual({ running: 2, waiting: 1 })
  expect(limits.load('mutating')).toEqual({ running: 0, waiting: 0 })
  first.release()
  first.release()
  expect(await third).toBeTypeOf('object')
  expect(limits.load('readOnly')).toEqual({ running: 2, waiting: 0 })
})

test('components of the cluster and other clients take no slots of each other', () => {
  const { limits } = started(4)
  const waits = (who: typeof USER) => limits.acquire('mutating', who) instanceof Promise
  expect([USER, USER, USER, USER].map(waits)).toEqual([false, false, false, true])
  expect([SYSTEM, SYSTEM].map(waits)).toEqual([false, true])
})

test('a request is rejected when its wait is over or the queue is full', async () => {
  const { limits, clock } = started(2)
  void limits.acquire('readOnly', USER)
  const waiting = Array.from({ length: 11 }, () => limits.acquire('readOnly', USER))
  expect(await waiting.at(-1)).toBe('queue-full')
  const late = limits.acquire('readOnly', OTHER)
  expect(await waiting.at(-2)).toBe('queue-full')
  await clock.advance(15_000)
  expect([await waiting[0], await late]).toEqual(['time-out', 'time-out'])
  expect(limits.load('readOnly')).toEqual({ running: 1, waiting: 0 })
})

test('a request that waits for another one gives its slot back meanwhile', async () => {
  const { limits, clock } = started(2)
  const slot = limits.acquire('mutating', USER) as Slot
  const { promise: work, resolve: finish } = Promise.withResolvers<void>()
  const lent = slot.lend(() => work)
  const other = limits.acquire('mutating', OTHER) as Slot
  expect(limits.load('mutating')).toEqual({ running: 1, waiting: 1 })
  finish()
  await clock.advance(0)
  expect(limits.load('mutating')).toEqual({ running: 1, waiting: 1 })
  other.release()
  expect(await lent).toBeUndefined()
  expect(limits.load('mutating')).toEqual({ running: 1, waiting: 0 })
  slot.release()
  expect(limits.load('mutating')).toEqual({ running: 0, waiting: 0 })
})

test('too many requests do not wait for others, and one that gets no slot again ends', async () => {
  const { limits, clock } = started(2)
  const { promise: work, resolve: finish } = Promise.withResolvers<void>()
  const lend = () => (limits.acquire('mutating', USER) as Slot).lend(() => work)
  const lent = Array.from({ length: 10 }, lend)
  expect(await lend()).toBe('queue-full')
  expect(limits.load('mutating')).toEqual({ running: 1, waiting: 10 })
  finish()
  await clock.advance(0)
  await clock.advance(15_000)
  expect(await Promise.all(lent)).toEqual(lent.map(() => 'time-out'))
})
