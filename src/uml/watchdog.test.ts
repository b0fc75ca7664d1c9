import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Watchdog } from './start-kernel.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('barks after silence, which every sound ends', () => {
  const bark = vi.fn<(code: string) => void>()
  const dog = new Watchdog({ silenceMs: 100 }, bark)
  vi.advanceTimersByTime(99)
  dog.heard()
  vi.advanceTimersByTime(99)
  expect(bark).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(bark.mock.calls).toEqual([['NP_UML_SILENT']])
})

test('barks when the time is over, whatever is heard', () => {
  const bark = vi.fn<(code: string) => void>()
  const dog = new Watchdog({ timeoutMs: 100, silenceMs: 60 }, bark)
  vi.advanceTimersByTime(50)
  dog.heard()
  vi.advanceTimersByTime(50)
  expect(bark.mock.calls).toEqual([['NP_UML_TIMEOUT']])
})

test('is quiet when stopped, and without limits', () => {
  const bark = vi.fn<(code: string) => void>()
  const dog = new Watchdog({ timeoutMs: 100, silenceMs: 60 }, bark)
  dog.stop()
  new Watchdog({}, bark).heard()
  vi.advanceTimersByTime(1e6)
  expect(bark).not.toHaveBeenCalled()
})
