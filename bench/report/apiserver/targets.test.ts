import { expect, test } from 'vitest'
import { judgeAll } from '../verdict.ts'
import type { ApiserverCell, ApiserverMeasured, List } from './results.ts'
import { APISERVER_TARGETS } from './targets.ts'

function verdicts(measured: Partial<ApiserverMeasured>) {
  const cells: readonly ApiserverCell[] = [{ driver: 'embedded', measured }]
  const all = judgeAll(APISERVER_TARGETS, cells, ({ driver }) => driver)
  return all.map(({ target, measured: value, met }) => [target, value, met])
}

function list(ms: number, delay: number): List {
  const none = { bytes: 1, cpuMsEach: [], delayLongest: [], bareMs: [] }
  return { ...none, ms: [ms], delayP99: [delay] }
}

test('nothing is judged that was not measured', () => {
  expect(verdicts({})).toEqual([])
})

test('creates have a least rate, the median of the rounds', () => {
  const creates = { p50: [], p99: [], bytes: 0, cpuMsEach: [] }
  const bare = { flushesPerSecond: [], storePerSecond: [] }
  const of = (...perSecond: readonly number[]) =>
    verdicts({ createServices: { perSecond, ...creates, ...bare } }).map(([, ...rest]) => rest)
  expect(of(2, 860, 900)).toEqual([[860, true]])
  expect(of(859, 859, 900)).toEqual([[859, false]])
})

test('lists are judged by their time, and all by what they do to the event loop', () => {
  const lists = { objects: 10_000, plain: list(99, 10), gzip: list(101, 51), table: list(500, 49) }
  expect(verdicts({ lists })).toEqual([
    ['list of 10,000 Services ≤ 100 ms', 99, true],
    ['list of 10,000 Services, gzip ≤ 100 ms', 101, false],
    ['event-loop delay p99 < 50 ms during lists', 51, false],
    ['event-loop delay p99 < 50 ms during tables', 49, true],
  ])
})

test('memory is counted in 1,000 bytes, readiness by its ninetieth percentile', () => {
  const startEmpty = { readyMs: [], residentKib: [150_000] }
  const readiness = { ms: [1, 1, 1, 1, 1, 1, 1, 1, 20, 900] }
  expect(verdicts({ startEmpty, readiness })).toEqual([
    ['memory when idle ≤ 150 MB', 153.6, false],
    ['Endpoints p90 ≤ 20 ms after readiness', 20, true],
  ])
})
