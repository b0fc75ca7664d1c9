import type { Latencies, Rates } from '../report/dns/results.ts'
import { median, quantile } from '../report/statistics.ts'
import { dnsperf } from './dnsperf.ts'
import type { PinnedServer } from './pinned.ts'
import type { Repeats } from './repeats.ts'

/**
 * Measures answers per second, alternately of the server and of a bare echo, so that a slow round is slow for both;
 * then the latency of both at half of the server's rate.
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
  const halfRate = median(dns) / 2
  const paced = { questions, seconds: latencySeconds, rate: halfRate }
  const latencies: Latencies = { echo: { p50: [], p99: [] }, dns: { p50: [], p99: [] } }
  for (let round = 0; round < rateRounds; round += 1) {
    for (const name of ['echo', 'dns'] as const) {
      const { latencies: all } = await dnsperf({ ...paced, port: servers[name].port })
      latencies[name].p50.push(quantile(all, 0.5))
      latencies[name].p99.push(quantile(all, 0.99))
    }
  }
  return { echoPerSecond: echo, dnsPerSecond: dns, lost, halfRate, latencies }
}
