import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFastClock } from './fast-clock.ts'

const DAY_MS = 86_400_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([40_000, 40 * 30 * DAY_MS])('%i ms pass in a fortieth of them', (ms) => {
  const clock = createFastClock(40)
  const reported: number[] = []
  const began = clock.now()
  clock.after(ms, () => reported.push(clock.now() - began))
  vi.advanceTimersByTime(ms / 40 - 1)
  expect(reported).toEqual([])
  vi.advanceTimersByTime(1)
  expect(reported).toEqual([ms])
})

test('a timer that waits while the clock slows down runs at its time, or not at all', () => {
  const clock = createFastClock(40)
  const reported: string[] = []
  clock.after(40_000, () => reported.push('kept'))
  const cancel = clock.after(40_000, () => reported.push('cancelled'))
  vi.advanceTimersByTime(500)
  clock.slowDown()
  vi.advanceTimersByTime(19_000)
  cancel()
  vi.advanceTimersByTime(999)
  expect(reported).toEqual([])
  vi.advanceTimersByTime(1)
  expect(reported).toEqual(['kept'])
  expect(vi.getTimerCount()).toBe(0)
})
