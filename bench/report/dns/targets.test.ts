import { expect, test } from 'vitest'
import type { DnsMeasured } from './results.ts'
import { dnsSection } from './section.ts'
import { dnsVerdicts } from './targets.ts'

const MACHINE = { cores: 2, kernel: '6.1', node: 'v26', dnsperf: '2.10.0' }

function results(measured: Partial<DnsMeasured>) {
  const head = { startedAt: '2030-01-02', machine: MACHINE, quick: false, busyPercent: 1 }
  return { ...head, services: 10_000, measured }
}

function verdicts(measured: Partial<DnsMeasured>) {
  return dnsVerdicts(results(measured)).map(({ measured: value, met }) => [value, met])
}

const RATES = {
  echoPerSecond: [100, 200, 50],
  dnsPerSecond: [80, 150, 30],
  lost: 0,
  halfRate: 40,
  latencies: {
    echo: { p50: [1, 1, 1], p99: [1, 1, 1] },
    dns: { p50: [1, 1, 1], p99: [1, 2, 3] },
  },
}

const SLOW = { ...RATES.latencies, dns: { p50: [1, 1, 1], p99: [3, 3, 1] } }

test('nothing is judged that was not measured', () => {
  expect(verdicts({})).toEqual([])
})

test('rates are compared with those of the same round, latencies by their median', () => {
  expect(verdicts({ rates: RATES })).toEqual([
    [0.75, true],
    [2, true],
  ])
  expect(verdicts({ rates: { ...RATES, dnsPerSecond: [74, 148, 37], latencies: SLOW } })).toEqual([
    [0.74, false],
    [3, false],
  ])
})

test('changes, a burst and memory have limits of their own', () => {
  const changes = { fromWrite: [9, 10, 60], fromAnswer: [0, 1, 2] }
  const burst = { services: 1_000, perSecond: 1, quiet: [1, 2, 4], disturbed: [2, 4.2, 9] }
  expect(verdicts({ changes, burst, peakKib: 92_773 })).toEqual([
    [10, true],
    [60, false],
    [2.1, false],
    [94.999552, true],
  ])
})

test('the page shows each part that was measured', () => {
  const changes = { fromWrite: [9, 10, 60], fromAnswer: [0, 1, 2] }
  const page = dnsSection(results({ rates: RATES, changes }))
  expect(page).toContain('| orch-dns |  | 80 (30–150) | 0.75 (0.60–0.80) | 0 |')
  expect(page).toContain('| the write was sent |  | 10.0 | 60.0 | 60.0 |')
  expect(page).not.toContain('A steady client')
})
