import { setTimeout as delay } from 'node:timers/promises'
import { machineTicks } from './idle.ts'

const LOOK_MS = 3_000

/** Per cent of all cores that are used in the next seconds; called while the benchmark does nothing. */
export async function busyPercent(): Promise<number> {
  const before = machineTicks()
  await delay(LOOK_MS)
  const { busy, all } = machineTicks()
  return ((busy - before.busy) / (all - before.all)) * 100
}
