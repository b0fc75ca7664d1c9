import { setTimeout as delay } from 'node:timers/promises'
import { memoryOf } from '../../daemon/process-tree.ts'

/** Until the garbage of a start or of a burst is collected, or never will be. */
const SETTLE_MS = 3_000

/** KiB resident, after a rest. */
export async function residentKib(pid: number): Promise<number> {
  await delay(SETTLE_MS)
  return memoryOf(pid)?.resident ?? Number.NaN
}
