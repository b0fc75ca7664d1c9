import { setTimeout as delay } from 'node:timers/promises'
import { memoryOf } from '../../daemon/process-tree.ts'

/** Milliseconds after which the garbage of a start or a burst is collected, or will not be collected. */
const SETTLE_MS = 3_000

/** KiB resident, after a rest. */
export async function residentKib(pid: number): Promise<number> {
  await delay(SETTLE_MS)
  return memoryOf(pid)?.resident ?? Number.NaN
}
