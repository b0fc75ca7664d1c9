import type { Rates } from '../report/dns/results.ts'
import { median, quantile } from '../report/statistics.ts'
import { dnsperf } from './dnsperf.ts'
import type { PinnedServer } from './pinned.ts'
import type { Repeats } from './repeats.ts'

/**
 * Answers per second of the server beside a bare echo, by turns, so that slow rounds are slow for both; then the
 * latency at half of the server's rate.
 */
export async function measureRates(
  { rateRounds, rateSeconds, latencySeconds }: Repeats,
  servers: { readonly echo: PinnedServer; readonly dns: PinnedServer },
  questions: string,
): Promise<Rates> {
  const echo: number[] = []
  const dns: number[] = []
  let lost = 0
  const load = { questions, seconds: rateSeconds }
  for (let round = 0; round < rateRounds; round += 1) {
    echo.push((await dnsperf({ ...load, port: servers.echo.port })).perSecond)
    const outcome = await dnsperf({ ...load, port: servers.dns.port })
    dns.push(outcome.perSecond)
    lost += outcome.lost
  }
  const rate = median(dns) / 2
  const paced = { questions, seconds: latencySeconds, rate, port: servers.dns.port }
  const p50: number[] = []
  const p99: number[] = []
  for (let round = 0; round < rateRounds; round += 1) {
    const { latencies } = await dnsperf(paced)
    p50.push(quantile(latencies, 0.5))
    p99.push(quantile(latencies, 0.99))
  }
  return { echoPerSecond: echo, dnsPerSecond: dns, lost, halfRate: rate, p50, p99 }
}
