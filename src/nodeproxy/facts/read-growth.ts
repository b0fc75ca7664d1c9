import { setTimeout as delay } from 'node:timers/promises'
import type { NodeFacts } from '../../doctor/evidence/node-facts.ts'
import type { RunCommand } from '../../explain/host/run-command.ts'
import type { InspectionClient } from '../../inspection/client/inspection-client.ts'
import { readTotals, type Totals } from './daemon/read-loads.ts'
import { readCounters } from './kernel/read-counters.ts'

/** Counters read twice: what grew meanwhile happens now. */
export interface Growth {
  readonly counters: NodeFacts['counters']
  readonly before: Totals
  readonly after: Totals
}

/** Reads the counters of the kernel and of node-proxy, and once more after some seconds. */
export async function readGrowth(
  run: RunCommand,
  client: Pick<InspectionClient, 'traffic'>,
  seconds: number,
): Promise<Growth> {
  const [first, before] = await Promise.all([readCounters(run), readTotals(client)])
  await delay(seconds * 1_000)
  const [last, after] = await Promise.all([readCounters(run), readTotals(client)])
  const isCounted = first !== undefined && last !== undefined
  return {
    counters: isCounted ? { before: first, after: last, seconds } : undefined,
    ...{ before, after },
  }
}
