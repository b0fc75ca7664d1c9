import { setTimeout as delay } from 'node:timers/promises'
import type { TrafficCounts } from '../../mode.ts'

/** Milliseconds between two checks. */
const POLL_INTERVAL_MS = 100

/** What `untilIdle` checks. */
export interface IdleParts {
  readonly counts: () => Pick<TrafficCounts, 'connections' | 'connectionsNow' | 'udpFlowsNow'>
  /** Milliseconds for which no client may have arrived; absent if it is enough that there is no client. */
  readonly quietMs?: number
  /** Whether another process serves instead. */
  readonly hasSuccessor?: () => boolean
}

/** Resolves when there is no client and none arrives, another process serves, or the signal is aborted. */
export async function untilIdle(
  { counts, quietMs = 0, hasSuccessor = () => false }: IdleParts,
  signal: AbortSignal,
): Promise<void> {
  let before = counts().connections
  let quietFor = 0
  while (!signal.aborted && !hasSuccessor()) {
    const { connections, connectionsNow, udpFlowsNow } = counts()
    const isQuiet = connectionsNow + udpFlowsNow === 0 && connections === before
    before = connections
    if (!isQuiet) quietFor = 0
    else if (quietFor >= quietMs) return
    await delay(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
    quietFor += POLL_INTERVAL_MS
  }
}
