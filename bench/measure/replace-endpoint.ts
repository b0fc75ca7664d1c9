import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Changes } from '../report/results.ts'
import { CHANGE_TIMEOUT_MS, type ChangeContext, PACKETS, pick, target } from './context.ts'

/** Repeatedly replaces one endpoint of one Service by a new one. */
export async function replaceEndpoints(context: ChangeContext, count: number): Promise<Changes> {
  const { cluster, daemon } = context
  const ms: number[] = []
  const writeMs: number[] = []
  const cpuBefore = cpuSeconds(daemon.pid)
  for (let n = 0; n < count; n++) {
    const service = pick(cluster, n)
    const fresh = context.freshAddress()
    const [, ...rest] = cluster.endpointsOf(service)
    const took = await timeChange(context, [target(service, fresh)], () =>
      cluster.setEndpoints(service, [...rest, fresh]),
    )
    ms.push(took.ms)
    writeMs.push(took.writeMs)
  }
  return { ms, writeMs, cpuSecondsEach: (cpuSeconds(daemon.pid) - cpuBefore) / count }
}

/**
 * Measures the time from sending the write until new connections reach the new endpoints of all targets. Probing begins
 * when the server has answered, because no transaction is faster.
 */
export async function timeChange(
  { prober }: Pick<ChangeContext, 'prober'>,
  targets: Parameters<typeof prober.met>[0],
  write: () => Promise<unknown>,
): Promise<{ readonly ms: number; readonly writeMs: number }> {
  const startedAt = performance.now()
  await write()
  const writeMs = performance.now() - startedAt
  const packets = targets.length === 1 ? PACKETS : 1
  const metAt = await prober.met(targets, { timeoutMs: CHANGE_TIMEOUT_MS, packets })
  if (metAt === undefined) throw new Error(`a change is not visible after ${CHANGE_TIMEOUT_MS} ms`)
  await quiet(metAt - startedAt)
  return { ms: metAt - startedAt, writeMs }
}

/** The daemon pauses for as long as its last run took; the next change must not wait for that. */
async function quiet(ms: number): Promise<void> {
  await delay(ms * 1.5 + 30)
}
