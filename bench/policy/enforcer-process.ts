import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyEvent } from '../../src/policy/policy-content.ts'
import {
  clusterEvents,
  isolatingPolicies,
  podAdded,
  podRelabelled,
  policyChanged,
} from './events.ts'
import { openEnforcer } from './open-enforcer.ts'

/** Milliseconds between two changes, so that each is a run of its own. */
const REST_MS = 30
/** After the full sync, whose length delays the next run, and before each kind of change. */
const LONG_REST_MS = 1_000

/** What one run measured; milliseconds, and bytes. */
export interface Measured {
  readonly fullSyncMs: number
  readonly cpuMs: number
  readonly podAddedMs: readonly number[]
  readonly podRelabelledMs: readonly number[]
  readonly policyChangedMs: readonly number[]
  /** Of each change, in the order above. */
  readonly changeTransactions: readonly number[]
  /** What the resident memory and the heap grew by. */
  readonly residentBytes: number
  readonly heapBytes: number
}

/** Runs in a network namespace of its own: an enforcer with its model; prints what it measured as JSON. */
const [policies, localPods, peers, changes] = process.argv.slice(2).map(Number) as [
  number,
  number,
  number,
  number,
]
// Neither sockets nor timers of the enforcer keep a process alive.
setInterval(() => undefined, 1_000)
let transactions = 0
const enforcer = openEnforcer(
  { unknownPods: 'deny', logDeniedPerSecond: 0 },
  (count) => void (transactions += count),
)
const size = { policies, localPods, peers }
const events = clusterEvents(size)
const isolating = isolatingPolicies(size)
const changeTransactions: number[] = []
globalThis.gc?.()
const before = process.memoryUsage()
const cpuBefore = process.cpuUsage()
const fullSyncMs = await time(() => written(events, () => enforcer.setSynced()))
const cpu = process.cpuUsage(cpuBefore)
events.length = 0
globalThis.gc?.()
const after = process.memoryUsage()
const measured: Measured = {
  fullSyncMs,
  cpuMs: (cpu.user + cpu.system) / 1_000,
  residentBytes: after.rss - before.rss,
  heapBytes: after.heapUsed + after.external - before.heapUsed - before.external,
  podAddedMs: await timeEach((n) => podAdded(n)),
  podRelabelledMs: await timeEach((n) => podRelabelled(n)),
  policyChangedMs: await timeEach((n) => policyChanged(isolating[n % isolating.length]!, n)),
  changeTransactions,
}
await enforcer.stop()
process.stdout.write(`${JSON.stringify(measured)}\n`)
process.exit(0)

function written(some: readonly PolicyEvent[], then: () => void = () => {}): Promise<void> {
  return new Promise((resolve) => {
    enforcer.enqueue(some, resolve)
    then()
  })
}

async function timeEach(event: (n: number) => PolicyEvent): Promise<readonly number[]> {
  const ms: number[] = []
  await delay(LONG_REST_MS)
  for (let n = 0; n < changes; n++) {
    await delay(REST_MS)
    const before = transactions
    ms.push(await time(() => written([event(n)])))
    if (transactions === before) throw new Error(`change ${n} wrote nothing`)
    changeTransactions.push(transactions - before)
  }
  return ms
}

async function time(act: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}
