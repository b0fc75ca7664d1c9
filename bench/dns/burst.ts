import type { Cluster } from '../cluster/cluster.ts'
import { replacementAddress } from '../lab/plan.ts'
import type { Burst } from '../report/dns/results.ts'
import { quantile } from '../report/statistics.ts'
import { dnsperf } from './dnsperf.ts'
import type { Repeats } from './repeats.ts'

const PER_SECOND = 1_000
const SECONDS = 3
const WRITERS = 16

/** Measures a client at a steady rate, alternately alone and while the endpoints of many Services change. */
export async function measureBurst(
  { burstRounds, burst }: Repeats,
  cluster: Cluster,
  target: { readonly port: number; readonly questions: string },
): Promise<Burst> {
  const load = { ...target, seconds: SECONDS, rate: PER_SECOND }
  const p99 = async (): Promise<number> => quantile((await dnsperf(load)).latencies, 0.99)
  const quiet: number[] = []
  const disturbed: number[] = []
  let serial = 0
  for (let round = 0; round < burstRounds; round += 1) {
    quiet.push(await p99())
    const during = p99()
    const change = async (): Promise<void> => {
      for (let index = 0; index < burst / WRITERS; index += 1) {
        serial += 1
        await cluster.setEndpoints(serial % cluster.size, [replacementAddress(serial)])
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, change))
    disturbed.push(await during)
  }
  return { services: burst, perSecond: PER_SECOND, quiet, disturbed }
}
