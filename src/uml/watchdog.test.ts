import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Watchdog } from './start-kernel.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('expires after silence, which every reset ends', () => {
  const onExpired = vi.fn<(code: string) => void>()
  const watchdog = new Watchdog({ silenceMs: 100 }, onExpired)
  vi.advanceTimersByTime(99)
  watchdog.reset()
  vi.advanceTimersByTime(99)
  expect(onExpired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(onExpired.mock.calls).toEqual([['NP_UML_SILENT']])
})

test('expires when the time is over, whatever is reset', () => {
  const onExpired = vi.fn<(code: string) => void>()
  const watchdog = new Watchdog({ timeoutMs: 100, silenceMs: 60 }, onExpired)
  vi.advanceTimersByTime(50)
  watchdog.reset()
  vi.advanceTimersByTime(50)
  expect(onExpired.mock.calls).toEqual([['NP_UML_TIMEOUT']])
})

test('never expires when stopped, and without limits', () => {
  const onExpired = vi.fn<(code: string) => void>()
  const watchdog = new Watchdog({ timeoutMs: 100, silenceMs: 60 }, onExpired)
  watchdog.stop()
  new Watchdog({}, onExpired).reset()
  vi.advanceTimersByTime(1e6)
  expect(onExpired).not.toHaveBeenCalled()
})
