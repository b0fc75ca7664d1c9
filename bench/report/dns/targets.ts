import { count } from '../show.ts'
import { median, quantile, ratios } from '../statistics.ts'
import { judgeAll, type Target, type Verdict } from '../verdict.ts'
import type { DnsResults } from './results.ts'

/** The least part of the rate of a bare echo: 1.4 times the part that CoreDNS reaches. */
const LEAST_RATE = 0.75
const MAX_P99_MS = 2
const MAX_CHANGE_MS = 10
const MAX_DISTURBANCE = 2
const MAX_MEMORY_MB = 95
const BYTES_PER_KIB = 1_024
const BYTES_PER_MB = 1_000_000

const TARGETS: readonly Target<DnsResults>[] = [
  {
    name: 'answers per second ≥ 0.75 × a bare UDP echo',
    judge: ({ measured: { rates } }) =>
      rates && {
        measured: median(ratios(rates.dnsPerSecond, rates.echoPerSecond)),
        limit: LEAST_RATE,
        unit: '×',
        atLeast: true,
      },
  },
  {
    name: 'p99 at half of that rate ≤ 2 ms',
    judge: ({ measured: { rates } }) =>
      rates && { measured: median(rates.latencies.dns.p99), limit: MAX_P99_MS, unit: 'ms' },
  },
  {
    name: 'endpoint replaced, API write → first answer, p50 ≤ 10 ms',
    judge: ({ measured: { changes } }) =>
      changes && { measured: median(changes.fromWrite), limit: MAX_CHANGE_MS, unit: 'ms' },
  },
  {
    name: 'endpoint replaced, API write → first answer, p99 ≤ 50 ms',
    judge: ({ measured: { changes } }) =>
      changes && { measured: quantile(changes.fromWrite, 0.99), limit: 50, unit: 'ms' },
  },
  {
    name: 'p99 during a burst of 1,000 changes ≤ 2 × without',
    judge: ({ measured: { burst } }) =>
      burst && {
        measured: median(ratios(burst.disturbed, burst.quiet)),
        limit: MAX_DISTURBANCE,
        unit: '×',
      },
  },
  {
    name: 'peak memory ≤ 95 MB',
    judge: ({ measured: { peakKib } }) =>
      peakKib === undefined
        ? undefined
        : {
            measured: (peakKib * BYTES_PER_KIB) / BYTES_PER_MB,
            limit: MAX_MEMORY_MB,
            unit: 'MB',
          },
  },
]

/** The verdicts about everything that was measured. */
export function dnsVerdicts(results: DnsResults): readonly Verdict[] {
  return judgeAll(TARGETS, [results], ({ services }) => `${count(services)} Services`)
}
