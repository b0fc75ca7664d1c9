import { setTimeout as delay } from 'node:timers/promises'
import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import type { RunCommand } from '../../../explain/host/run-command.ts'
import { readCounters } from './read-counters.ts'

/** Between the two reads: what grows meanwhile happens now. */
const PAUSE_MS = 1_000

/** The counters twice, a second apart. Undefined: this kernel does not count. */
export async function readCountersTwice(run: RunCommand): Promise<NodeFacts['counters']> {
  const before = await readCounters(run)
  if (before === undefined) return undefined
  await delay(PAUSE_MS)
  const after = await readCounters(run)
  return after === undefined ? undefined : { before, after, seconds: PAUSE_MS / 1_000 }
}
