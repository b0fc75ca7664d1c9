import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyEvent } from '../../src/policy/policy-content.ts'
import { clusterEvents, podAdded, podRelabelled, policyChanged } from './events.ts'
import { openEnforcer } from './open-enforcer.ts'

/** Milliseconds between two changes, so that each is a run of its own. */
const REST_MS = 30

/** What one run measured; milliseconds, and bytes. */
export interface Measured {
  readonly fullSyncMs: number
  readonly cpuMs: number
  readonly podAddedMs: readonly number[]
  readonly podRelabelledMs: readonly number[]
  readonly policyChangedMs: readonly number[]
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
const enforcer = openEnforcer({ unknownPods: 'deny' })
const events = clusterEvents({ policies, localPods, peers })
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
  policyChangedMs: await timeEach((n) => policyChanged(n % policies, n)),
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
  for (let n = 0; n < changes; n++) {
    await delay(REST_MS)
    ms.push(await time(() => written([event(n)])))
  }
  return ms
}

async function time(act: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}
