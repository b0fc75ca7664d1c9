import { quantile, ratios, spread } from '../statistics.ts'
import { table } from '../table.ts'
import { targetsTable } from '../verdict.ts'
import type { Burst, Changes, DnsResults, Rates } from './results.ts'
import { dnsVerdicts } from './targets.ts'

/** Everything about names, as a part of the page. */
export function dnsSection(results: DnsResults): string {
  const { rates, changes, burst } = results.measured
  const sections = [
    ['Targets', targetsTable(dnsVerdicts(results))] as const,
    ...(rates ? [['Answers per second', ratesTable(rates)] as const] : []),
    ...(rates ? [['Latency at half of the rate', latencyTable(rates)] as const] : []),
    ...(changes ? [['One endpoint replaced', changesTable(changes)] as const] : []),
    ...(burst ? [['A steady client beside many changes', burstTable(burst)] as const] : []),
  ]
  const body = sections.map(([title, text]) => `### DNS: ${title}\n\n${text}\n`).join('\n')
  return `${head(results)}\n${body}`
}

function ratesTable({ echoPerSecond, dnsPerSecond, lost }: Rates): string {
  const rows = [
    ['a bare UDP echo in Node', echoPerSecond, undefined],
    ['orch-dns', dnsPerSecond, lost],
  ] as const
  return table(rows, [
    ['server', ([name]) => name],
    ['', () => ''],
    ['per second', ([, rate]) => spread(rate, 0)],
    ['÷ echo', ([, rate]) => spread(ratios(rate, echoPerSecond), 2)],
    ['lost', ([, , count]) => count?.toString()],
  ])
}

function latencyTable({ halfRate, latencies: { echo, dns } }: Rates): string {
  const rows = [
    ['a bare UDP echo in Node', echo],
    ['orch-dns', dns],
  ] as const
  return table(rows, [
    [`${halfRate.toFixed(0)} questions per second`, ([name]) => name],
    ['', () => ''],
    ['p50, ms', ([, { p50 }]) => spread(p50, 2)],
    ['p99, ms', ([, { p99 }]) => spread(p99, 2)],
  ])
}

function changesTable({ fromWrite, fromAnswer }: Changes): string {
  const rows = [
    ['the write was sent', fromWrite],
    ['the API server answered', fromAnswer],
  ] as const
  return table(rows, [
    ['first answer, after', ([from]) => from],
    ['', () => ''],
    ['p50, ms', ([, samples]) => quantile(samples, 0.5).toFixed(1)],
    ['p99, ms', ([, samples]) => quantile(samples, 0.99).toFixed(1)],
    ['most, ms', ([, samples]) => Math.max(...samples).toFixed(1)],
  ])
}

function burstTable({ quiet, disturbed, perSecond, services }: Burst): string {
  const rows = [
    ['alone', quiet],
    [`while endpoints of ${services} Services change`, disturbed],
  ] as const
  return table(rows, [
    [`${perSecond} questions per second`, ([name]) => name],
    ['', () => ''],
    ['p99, ms', ([, p99]) => spread(p99, 2)],
    ['÷ alone', ([, p99]) => spread(ratios(p99, quiet), 2)],
  ])
}

function head({ machine, startedAt, quick, busyPercent, services }: DnsResults): string {
  const { cores, kernel, node, dnsperf } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  return `## Names
${warning}
${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}, dnsperf ${dnsperf}; ${services} Services. The server has one
processor, dnsperf the other: 200 questions outstanding, random names, type A. Ratios are of the same round.
Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
`
}
