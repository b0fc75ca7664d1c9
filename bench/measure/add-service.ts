import { setTimeout as delay } from 'node:timers/promises'
import { firstEndpoints } from '../cluster/objects.ts'
import { sumOf } from '../daemon/metrics.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Changes } from '../report/results.ts'
import { CHANGE_TIMEOUT_MS, type ChangeContext, target } from './context.ts'
import { timeChange } from './replace-endpoint.ts'

/** Adds Services with all their endpoints one by one, and removes them in the end. */
export async function addServices(context: ChangeContext, count: number): Promise<Changes> {
  const { cluster, daemon } = context
  const ms: number[] = []
  const writeMs: number[] = []
  const before = cluster.size
  const cpuBefore = cpuSeconds(daemon.pid)
  for (let n = 0; n < count; n++) {
    const service = cluster.size
    const added = target(service, ...firstEndpoints(service, cluster.endpointsEach))
    const took = await timeChange(context, [added], () => cluster.addService())
    ms.push(took.ms)
    writeMs.push(took.writeMs)
  }
  const cpuSecondsEach = (cpuSeconds(daemon.pid) - cpuBefore) / count
  await shrinkTo(context, before)
  return { ms, writeMs, cpuSecondsEach }
}

/** Removes Services again, and waits until the daemon counts no more than `size`. */
export async function shrinkTo(
  { cluster, daemon }: Pick<ChangeContext, 'cluster' | 'daemon'>,
  size: number,
): Promise<void> {
  while (cluster.size > size) await cluster.removeService()
  const services = 'resource="services"'
  await daemon.until(
    (samples) => sumOf(samples, 'nodeproxy_objects', services) <= size + 1,
    CHANGE_TIMEOUT_MS,
  )
  await delay(2_000)
}
