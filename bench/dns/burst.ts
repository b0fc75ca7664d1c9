import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../cluster/cluster.ts'
import { serviceName } from '../cluster/objects.ts'
import { replacementAddress } from '../lab/plan.ts'
import type { Burst } from '../report/dns/results.ts'
import { quantile } from '../report/statistics.ts'
import type { Repeats } from './repeats.ts'
import type { Resolver } from './resolver.ts'

const PER_SECOND = 1_000
const SECONDS = 3
const WRITERS = 16

/** A client at a steady rate, alone and while the endpoints of many Services change, by turns. */
export async function measureBurst(
  { burstRounds, burst }: Repeats,
  cluster: Cluster,
  resolver: Resolver,
): Promise<Burst> {
  const quiet: number[] = []
  const disturbed: number[] = []
  let serial = 0
  for (let round = 0; round < burstRounds; round += 1) {
    quiet.push(quantile(await sendSteadily(resolver), 0.99))
    const during = sendSteadily(resolver)
    const change = async (): Promise<void> => {
      for (let index = 0; index < burst / WRITERS; index += 1) {
        serial += 1
        await cluster.setEndpoints(serial % cluster.size, [replacementAddress(serial)])
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, change))
    disturbed.push(quantile(await during, 0.99))
  }
  return { services: burst, perSecond: PER_SECOND, quiet, disturbed }
}

async function sendSteadily(resolver: Resolver): Promise<readonly number[]> {
  const times: Promise<number>[] = []
  const began = performance.now()
  for (let index = 0; index < SECONDS * PER_SECOND; index += 1) {
    const due = began + (index * 1_000) / PER_SECOND
    if (due > performance.now()) await delay(due - performance.now())
    times.push(resolver.time(`${serviceName(index % PER_SECOND)}.default.svc.cluster.local`))
  }
  return Promise.all(times)
}
