import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Idle } from '../report/results.ts'
import type { Context } from './context.ts'

/** Processor share of the daemon and its children while nothing changes. */
export async function idle({ daemon }: Context, seconds: number): Promise<Idle> {
  await delay(3_000)
  const before = cpuSeconds(daemon.pid)
  const startedAt = performance.now()
  await delay(seconds * 1_000)
  const used = cpuSeconds(daemon.pid) - before
  return { seconds, cpuPercent: (used / (performance.now() - startedAt)) * 100_000 }
}
