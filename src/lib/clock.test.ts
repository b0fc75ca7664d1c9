import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'

const DAY_MS = 86_400_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([1, 1_000, 2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 365 * DAY_MS])(
  'a task runs once after %i ms and not before',
  (ms) => {
    const task = vi.fn<() => void>()
    systemClock.after(ms, task)
    vi.advanceTimersByTime(ms - 1)
    expect(task).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(task).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  },
)

test.each([1, 29])('a long wait is cancelled on day %i', (day) => {
  const task = vi.fn<() => void>()
  const cancel = systemClock.after(30 * DAY_MS, task)
  vi.advanceTimersByTime(day * DAY_MS)
  cancel()
  expect(vi.getTimerCount()).toBe(0)
})

test('no timer is set for longer than it can hold', () => {
  vi.useRealTimers()
  const timer = vi.spyOn(globalThis, 'setTimeout')
  const cancel = systemClock.after(Number.POSITIVE_INFINITY, () => undefined)
  expect(timer.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1])
  cancel()
  timer.mockRestore()
})
