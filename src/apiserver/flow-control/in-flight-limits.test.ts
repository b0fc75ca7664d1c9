import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { InFlightLimits, type Release } from './in-flight-limits.ts'

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
  const first = limits.acquire('readOnly', USER) as Release
  void limits.acquire('readOnly', USER)
  const third = limits.acquire('readOnly', USER)
  expect(limits.load('readOnly')).toEqual({ running: 2, waiting: 1 })
  expect(limits.load('mutating')).toEqual({ running: 0, waiting: 0 })
  first()
  first()
  expect(await third).toBeTypeOf('function')
  expect(limits.load('readOnly')).toEqual({ running: 2, waiting: 0 })
})

test('components of the cluster and other clients take no slots of each other', () => {
  const { limits } = started(4)
  const enter = (who: typeof USER) => typeof limits.acquire('mutating', who)
  expect([USER, USER, USER, USER].map(enter)).toEqual([
    'function',
    'function',
    'function',
    'object',
  ])
  expect([SYSTEM, SYSTEM].map(enter)).toEqual(['function', 'object'])
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
