import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { WatchRequest } from './generated/etcd_pb.ts'
import { answersProgress, ProgressRequests } from './progress-requests.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('asks once more only after something arrived, and never after its end', () => {
  const asked: WatchRequest[] = []
  const call = { write: (request: WatchRequest) => asked.push(request) }
  const requests = new ProgressRequests(call, 1000, new AbortController().signal)
  vi.advanceTimersByTime(5000)
  expect(asked.map(({ requestUnion }) => requestUnion.case)).toEqual(['progressRequest'])
  requests.arrived()
  vi.advanceTimersByTime(5000)
  expect(asked).toHaveLength(2)
  requests.arrived()
  requests[Symbol.dispose]()
  vi.advanceTimersByTime(5000)
  expect(asked).toHaveLength(2)
})

test('an aborted watch asks nothing and keeps no timer', () => {
  const call = { write: () => expect.unreachable() }
  const requests = new ProgressRequests(call, 1000, AbortSignal.abort())
  vi.advanceTimersByTime(5000)
  expect([vi.getTimerCount(), requests]).toEqual([0, requests])
})

test.each(['3.4.31', '3.5.13', '3.5.21', '3.6.0', '3.6.0-rc.1', '4.0.0'])(
  '%s answers truthfully',
  (version) => expect(answersProgress(version)).toBe(true),
)

test.each(['3.3.27', '3.4.23', '3.4.30', '3.5.0', '3.5.12', ''])('%s may not', (version) =>
  expect(answersProgress(version)).toBe(false),
)
