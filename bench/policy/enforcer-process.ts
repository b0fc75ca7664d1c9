import { setTimeout as delay } from 'node:timers/promises'
import { NetlinkConntrack } from '../../src/kernel/conntrack/netlink-conntrack.ts'
import { rawTransport } from '../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../src/kernel/netlink/transport.ts'
import { openNftables } from '../../src/kernel/nftables/netlink-nftables.ts'
import { NftablesMonitor } from '../../src/kernel/nftables/nftables-monitor.ts'
import { ObjectCollector } from '../../src/kernel/nftables/object-collector.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { PolicyEnforcer } from '../../src/policy/nftables/enforcer.ts'
import { TABLE } from '../../src/policy/nftables/render.ts'
import type { PolicyEvent } from '../../src/policy/policy-content.ts'
import { PolicyModel } from '../../src/policy/policy-model.ts'
import { clusterEvents, NODE, podAdded, podRelabelled, policyChanged } from './events.ts'

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
const enforcer = open()
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

function open(): PolicyEnforcer<PolicyEvent> {
  const nftables = openNftables(systemClock)
  const collector = new ObjectCollector({ table: TABLE, exceptPort: nftables.port })
  const transport = rawTransport(NETLINK_NETFILTER)
  const rethrow = (error: unknown) => {
    throw error
  }
  return new PolicyEnforcer<PolicyEvent>({
    model: new PolicyModel({ nodeName: NODE }),
    nftables,
    monitor: new NftablesMonitor(transport, { clock: systemClock, collector }),
    conntrack: new NetlinkConntrack(transport, systemClock),
    clock: systemClock,
    families: [4, 6],
    settings: { unknownPods: 'deny', establishedConnections: 'cut' },
    observer: {
      applied: ({ refused }) => {
        if (refused.size > 0) throw new Error(`refused: ${[...refused.keys()].join(', ')}`)
      },
      drifted: (names) => rethrow(new Error(`others changed ${names.join(', ')}`)),
      failed: rethrow,
      flowsCut: () => undefined,
      flowsFailed: rethrow,
    },
    isNodeAddress: () => false,
  })
}

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
