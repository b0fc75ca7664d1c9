import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds, memoryOf, processTree } from '../../daemon/process-tree.ts'
import type { Contestant } from '../contest.ts'
import type { Sample } from '../sample.ts'

/** The number of first connections, during which code and heaps grow, in contrast to later ones. */
const FIRST = 500
const SETTLE_MS = 2_000
const MOST = 10_000
/** Descriptors of a proxy that are not connections. */
const SPARE = 2_000

/** The most connections; each takes two descriptors of the proxy. */
export function mostConnections(descriptors: number): number {
  return Math.min(MOST, Math.floor((descriptors - SPARE) / 2))
}

/** Measures idle connections on a proxy that has just been started. */
export async function idleConnections(
  contestant: Contestant,
  connections: number,
  restMs: number,
): Promise<Sample> {
  const resident: number[] = []
  let failures = 0
  for (const more of [0, FIRST, connections - FIRST]) {
    if (more > 0) failures += (await contestant.request('hold', { connections: more })).failures
    await delay(SETTLE_MS)
    resident.push(residentKib(contestant.pids))
  }
  const cpuPercent = await usedPercent(contestant.pids, restMs)
  const held = (await contestant.request('release')).connections
  const [start = 0, early = 0, all = 0] = resident
  const idle = {
    connections: held,
    failures: [failures],
    startKibibytes: [start],
    kibibytesEach: [(all - start) / held],
    laterKibibytesEach: [(all - early) / (held - FIRST)],
    cpuPercent: [cpuPercent],
  }
  return { idle }
}

function residentKib(pids: readonly number[]): number {
  const all = pids.flatMap((pid) => processTree(pid))
  return all.reduce((sum, pid) => sum + (memoryOf(pid)?.resident ?? 0), 0)
}

/** Per cent of one core that the processes use. */
async function usedPercent(pids: readonly number[], ms: number): Promise<number> {
  const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const before = used()
  const startedAt = performance.now()
  await delay(ms)
  return ((used() - before) / (performance.now() - startedAt)) * 100_000
}
