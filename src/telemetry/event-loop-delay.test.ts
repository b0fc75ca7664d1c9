import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { sampleEventLoopDelay } from './event-loop-delay.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('observes how late its timer fires, until it is stopped', () => {
  let now = 0
  const observed: number[] = []
  const stop = sampleEventLoopDelay(
    { observe: (value: unknown) => void observed.push(Number(value)) },
    () => now,
  )
  now = 500
  vi.advanceTimersByTime(500)
  now = 1_250
  vi.advanceTimersByTime(500)
  stop()
  now = 9_000
  vi.advanceTimersByTime(5_000)
  expect(observed).toEqual([0, 0.25])
})
