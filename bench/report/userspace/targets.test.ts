import { expect, test } from 'vitest'
import { judgeAll } from '../verdict.ts'
import { ratios } from './ratio.ts'
import type { SubjectName, UserspaceCell } from './results.ts'
import { USERSPACE_TARGETS } from './targets.ts'

function cell(subject: SubjectName, speeds: readonly number[], p50 = 100): UserspaceCell {
  const stream = { gigabytesPerSecond: speeds, cpuSecondsPerGigabyte: speeds }
  const roundTrip = { p50: [p50], p99: [p50], failures: [0] }
  return { subject, measured: { stream, roundTrip } }
}

function verdicts(...cells: readonly UserspaceCell[]) {
  const all = judgeAll(USERSPACE_TARGETS, cells, ({ subject }) => subject)
  return all.map(({ target, at, measured, met }) => [target.split(' ≥ ')[0], at, measured, met])
}

test('figures are compared with those of the same round', () => {
  const all = [cell('haproxy-splice', [1, 2, 4]), cell('native', [2, 4])]
  const speed = {
    pick: ({ stream }: UserspaceCell['measured']) => stream?.gigabytesPerSecond,
    against: 'haproxy-splice',
  } as const
  expect(all.map((each) => ratios(each, all, speed))).toEqual([
    [1, 1, 1],
    [2, 2],
  ])
})

test('throughput is a limit from below, latency one from above', () => {
  const reference = [cell('haproxy-splice', [1], 500), cell('haproxy-auto', [9], 100)]
  const met = verdicts(...reference, cell('native', [1.8], 100), cell('javascript', [1], 90))
  expect(met).toEqual([
    ['throughput, 1 connection', 'native', 1.8, true],
    ['throughput, 1 connection', 'javascript', 1, true],
    ['round trip, p50 ≤ HAProxy’s', 'native', 1, true],
    ['round trip, p50 ≤ HAProxy’s', 'javascript', 0.9, true],
  ])
  const missed = verdicts(...reference, cell('native', [1.7], 101))
  expect(missed.map(([, , measured, isMet]) => [measured, isMet])).toEqual([
    [1.7, false],
    [1.01, false],
  ])
})

test('nothing is judged without the reference', () => {
  expect(verdicts(cell('native', [3]))).toEqual([])
})
