import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Cluster } from '../cluster/cluster.ts'
import { type Proxy, startDaemon } from '../daemon/daemon.ts'
import { cpuSeconds, memoryOf } from '../daemon/process-tree.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { buildTopology } from '../lab/topology.ts'
import { target } from '../measure/context.ts'
import { machineFacts } from '../measure/machine.ts'
import { Prober } from '../probe/prober.ts'
import { ratios, spread } from '../report/statistics.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { writePrograms } from './programs.ts'

/**
 * Measures a start of the daemon as the image runs it, a bundle that was compiled before, and as a checkout runs it,
 * more than a thousand modules with what Node compiled of them at an earlier start. They take turns, and each round
 * begins with the other one.
 *
 *     scripts/node bench/start/main.ts --rounds=11 --sizes=10,1000 --proxies=nft,nftables
 */
const SUBJECTS = ['image', 'checkout'] as const
type Subject = (typeof SUBJECTS)[number]

/** One start. Times are milliseconds from the start of the launcher, memory is MiB. */
interface Start {
  /** A new connection to the last Service met one of its endpoints. */
  readonly served: number
  /** The daemon reports that all rules are in the kernel. */
  readonly ready: number
  /** Processor time until then, of the daemon and of what it started. */
  readonly cpu: number
  /** `SETTLED_MS` after that. */
  readonly resident: number
  readonly anonymous: number
  /** The most that was ever resident, of the daemon alone. */
  readonly peak: number
}

const BOUND_MS = 120_000
/** Until the daemon has given back what only its start needed. */
const SETTLED_MS = 12_000
const KIB_PER_MIB = 1_024
const DIGITS = { served: 0, ready: 0, cpu: 0, resident: 1, anonymous: 1, peak: 1 }

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '11' },
    sizes: { type: 'string', default: '10,1000' },
    proxies: { type: 'string', default: 'nft,nftables' },
  },
})
const rounds = Number(values.rounds)
const folder = enterLab()
const launched = await writePrograms(join(folder, 'programs'))
let serial = 0
process.stdout.write(`${JSON.stringify(machineFacts())}\n`)
for (const size of values.sizes.split(',').map(Number)) {
  const cluster = await seededCluster(size)
  for (const proxy of values.proxies.split(',') as Proxy[]) {
    const starts = await inTurns(cluster, proxy)
    process.stdout.write(
      `${JSON.stringify({ services: size, proxy, rounds, ...tableOf(starts) })}\n`,
    )
  }
  await cluster.stop()
}

/** The first start of each does not count: it brings files into memory, and that of the checkout may compile. */
async function inTurns(cluster: Cluster, proxy: Proxy): Promise<Record<Subject, Start[]>> {
  const starts: Record<Subject, Start[]> = { image: [], checkout: [] }
  for (const subject of SUBJECTS) await measureStart(cluster, proxy, subject)
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? SUBJECTS : SUBJECTS.toReversed()) {
      starts[subject].push(await measureStart(cluster, proxy, subject))
    }
  }
  return starts
}

/** Starts the daemon on a node without rules. */
async function measureStart(cluster: Cluster, proxy: Proxy, subject: Subject): Promise<Start> {
  const topology = buildTopology(serial++)
  const prober = new Prober(topology)
  const node = { namespace: topology.node, url: cluster.url, proxy, folder }
  const daemon = startDaemon({ ...node, ...launched[subject] })
  try {
    const last = cluster.size - 1
    const targets = [target(last, ...cluster.endpointsOf(last))]
    const met = await prober.met(targets, { timeoutMs: BOUND_MS, packets: 2, intervalMs: 5 })
    const isReady = met !== undefined && (await daemon.untilReady(BOUND_MS))
    const readyAt = performance.now()
    const cpu = cpuSeconds(daemon.pid) * 1_000
    if (!isReady) throw new Error(`${subject}: no full sync within ${BOUND_MS / 1_000} s`)
    await delay(SETTLED_MS)
    const memory = memoryOf(daemon.pid)
    if (memory === undefined) throw new Error(`${subject}: the daemon ended`)
    return {
      served: met - daemon.startedAt,
      ready: readyAt - daemon.startedAt,
      cpu,
      resident: memory.resident / KIB_PER_MIB,
      anonymous: memory.anonymous / KIB_PER_MIB,
      peak: memory.peak / KIB_PER_MIB,
    }
  } finally {
    await daemon.stop()
    prober.close()
    topology.remove()
  }
}

/** Of each figure: both subjects, and how much of the checkout's the image takes, in the same round. */
function tableOf({ image, checkout }: Record<Subject, Start[]>) {
  const figures = Object.entries(DIGITS) as [keyof Start, number][]
  return Object.fromEntries(
    figures.map(([name, digits]) => {
      const [ours, theirs] = [image, checkout].map((starts) => starts.map((start) => start[name]))
      return [
        name,
        {
          image: spread(ours ?? [], digits),
          checkout: spread(theirs ?? [], digits),
          ratio: spread(ratios(ours ?? [], theirs ?? []), 2),
        },
      ]
    }),
  )
}
