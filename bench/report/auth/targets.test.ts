import { expect, test } from 'vitest'
import type { AuthMeasured, RequestsCell, SubjectName } from './results.ts'
import { authVerdicts } from './targets.ts'

function verdicts(measured: Partial<AuthMeasured>) {
  return authVerdicts(measured).map(({ at, measured: value, met }) => [at, value, met])
}

function cell(subject: SubjectName, creates: readonly number[], gets = creates): RequestsCell {
  const cpuMicros = creates.map(() => 1)
  const create = { perSecond: creates, cpuMicros }
  return { subject, create, get: { perSecond: gets, cpuMicros }, droppedEvents: 0 }
}

test('nothing is judged that was not measured', () => {
  expect(verdicts({})).toEqual([])
})

test('decisions have a least rate, the median of the rounds', () => {
  const sizes = { roles: 1_000, bindings: 5_000, scannedPerSecond: [900_000] }
  const of = (...indexedPerSecond: readonly number[]) =>
    verdicts({ decisions: { ...sizes, indexedPerSecond } })
  const at = '1,000 roles, 5,000 bindings'
  expect(of(1, 200_000, 300_000)).toEqual([[at, 200_000, true]])
  expect(of(199_999, 199_999, 300_000)).toEqual([[at, 199_999, false]])
})

test('rates are compared with those of the same round on a server that knows no users', () => {
  const requests = [
    cell('none', [50, 160, 320], [120, 100, 100]),
    cell('ignored', [100, 200, 400], [100, 100, 100]),
    cell('token', [90, 100, 380], [89, 89, 99]),
    cell('certificate', [40, 128, 256], [120, 90, 90]),
  ]
  expect(verdicts({ requests })).toEqual([
    ['token', 0.9, true],
    ['certificate', 0.8, false],
    ['token', 0.89, false],
    ['certificate', 0.9, true],
  ])
})

test('an audited server is not judged, nor is any without the one that knows no users', () => {
  expect(verdicts({ requests: [cell('ignored', [1]), cell('audited', [1])] })).toEqual([])
  expect(verdicts({ requests: [cell('token', [1]), cell('certificate', [1])] })).toEqual([])
})

test('the good client may wait twice as long, by the p99 of the same round', () => {
  const of = (quiet: readonly number[], flooded: readonly number[]) => {
    const waits = (p99: readonly number[]) => ({ p50: [1, 1, 1], p99 })
    const load = { requestsPerSecond: 100, attackers: 16, refusedPerSecond: [1, 1, 1] }
    return verdicts({ flood: { ...load, quiet: waits(quiet), flooded: waits(flooded) } })
  }
  expect(of([1, 2, 4], [9, 4, 4])).toEqual([['16 attackers', 2, true]])
  expect(of([1, 2, 4], [2.1, 4.2, 8])).toEqual([['16 attackers', 2.1, false]])
})
