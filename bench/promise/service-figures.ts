import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../cluster/cluster.ts'
import { cpuSeconds, memoryOf } from '../daemon/process-tree.ts'
import { buildTopology, type Topology } from '../lab/topology.ts'
import { bursts } from '../measure/burst.ts'
import { pick, target } from '../measure/context.ts'
import { firstPacket } from '../measure/first-packet.ts'
import { idle } from '../measure/idle.ts'
import { rawBurst, rawReplace } from '../measure/raw-changes.ts'
import { rawFullSync } from '../measure/raw-full-sync.ts'
import { timeChange } from '../measure/replace-endpoint.ts'
import { Prober } from '../probe/prober.ts'
import { RawKernel } from '../raw/raw-kernel.ts'
import type { Figure } from '../report/promise/results.ts'
import { PEER, type Started, type Subject } from './subjects.ts'

const BOUND_MS = 300_000
/** Some seconds after a start, node-proxy collects its garbage and gives memory back: that does not belong to what follows. */
const SETTLE_MS = 15_000
const BURST = 100
const KIB_PER_MIB = 1_024
/** The figures of Service proxies: how they look. */
const SHOWN = {
  start: { what: 'a start until all rules work', unit: 's', digits: 2 },
  startCpu: { what: 'processor time of a start', unit: 's', digits: 2 },
  peak: { what: 'most memory in a start', unit: 'MiB', digits: 0 },
  change: { what: 'one endpoint replaced, until packets reach the new one', unit: 'ms', digits: 1 },
  changeCpu: { what: 'processor time of one change', unit: 'ms', digits: 1 },
  burst: { what: `${BURST} Services changed at once, until the last is`, unit: 'ms', digits: 0 },
  idle: { what: 'processor time while nothing changes, after the start', unit: '%', digits: 2 },
  connect: { what: 'connect(2) through the last Service', unit: 'µs', digits: 1 },
} as const
type Name = keyof typeof SHOWN
const NAMES = Object.keys(SHOWN) as readonly Name[]
type Samples = Record<Name, number[]>
type Owner = Subject['name'] | 'limit'

/** How often everything is measured at one size; 0: not at all. Each number: of node-proxy, and of the peer. */
export type ServiceRepeats = Readonly<
  Record<
    'starts' | 'changes' | 'bursts' | 'idleSeconds' | 'connections',
    readonly [ours: number, peers: number]
  >
>
type SubjectRepeats = Readonly<Record<keyof ServiceRepeats, number>>

/** What a comparison works with. */
export interface Comparison {
  readonly subjects: readonly Subject[]
  readonly folder: string
  readonly freshSerial: () => number
  readonly freshAddress: () => number
  readonly log: (what: string) => void
}

/** Compares Service proxies on a cluster. They take turns with starts; the last start of each stays for the changes. */
export async function serviceFigures(
  comparison: Comparison,
  cluster: Cluster,
  repeats: ServiceRepeats,
): Promise<readonly Figure[]> {
  const samples: Record<Owner, Samples> = {
    nftables: noSamples(),
    iptables: noSamples(),
    peer: noSamples(),
    limit: noSamples(),
  }
  for (let n = 1; n <= Math.max(...repeats.starts); n++) {
    for (const subject of comparison.subjects) {
      const own = repeatsOf(subject, repeats)
      if (n > own.starts) continue
      comparison.log(`${cluster.size} Services: ${subject.name}, start ${n} of ${own.starts}`)
      const run = new Run(comparison, cluster, subject)
      try {
        await run.measureStart(samples[subject.name])
        if (n === own.starts) await run.measureChanges(samples, own)
      } finally {
        await run.end()
      }
    }
  }
  return NAMES.flatMap((name) => figureOf(name, cluster.size, samples) ?? [])
}

/** One start of one subject on a node without rules. */
class Run {
  readonly #comparison: Comparison
  readonly #cluster: Cluster
  readonly #subject: Subject
  readonly #topology: Topology
  readonly #prober: Prober
  readonly #started: Started

  constructor(comparison: Comparison, cluster: Cluster, subject: Subject) {
    this.#comparison = comparison
    this.#cluster = cluster
    this.#subject = subject
    this.#topology = buildTopology(comparison.freshSerial())
    this.#prober = new Prober(this.#topology)
    this.#started = subject.start({ namespace: this.#topology.node, url: cluster.url })
  }

  async measureStart(into: Samples): Promise<void> {
    const { pid, startedAt } = this.#started
    const last = this.#cluster.size - 1
    const targets = [target(last, ...this.#cluster.endpointsOf(last))]
    const how = { timeoutMs: BOUND_MS, packets: 2, intervalMs: 5 }
    const isServed = (await this.#prober.met(targets, how)) !== undefined
    if (!isServed || !(await this.#started.isReady(BOUND_MS))) {
      throw new Error(`${this.#subject.name}: no full sync within ${BOUND_MS / 1_000} s`)
    }
    into.start.push((performance.now() - startedAt) / 1_000)
    into.startCpu.push(cpuSeconds(pid))
    into.peak.push((memoryOf(pid)?.peak ?? Number.NaN) / KIB_PER_MIB)
  }

  async measureChanges(samples: Record<Owner, Samples>, repeats: SubjectRepeats): Promise<void> {
    const mine = samples[this.#subject.name]
    await delay(SETTLE_MS)
    const context = {
      cluster: this.#cluster,
      prober: this.#prober,
      freshAddress: this.#comparison.freshAddress,
    }
    if (repeats.idleSeconds > 0) {
      const { cpuPercent } = await idle({ daemon: this.#started }, repeats.idleSeconds)
      mine.idle.push(cpuPercent)
    }
    if (repeats.connections > 0) {
      const place = { topology: this.#topology, cluster: this.#cluster }
      const { last, direct } = firstPacket(place, repeats.connections)
      mine.connect.push(last.p50)
      samples.limit.connect.push(direct.p50)
    }
    const before = cpuSeconds(this.#started.pid)
    for (let n = 0; n < repeats.changes; n++) mine.change.push(await this.#change(n))
    if (repeats.changes > 0) {
      mine.changeCpu.push(((cpuSeconds(this.#started.pid) - before) * 1_000) / repeats.changes)
    }
    if (repeats.bursts > 0) mine.burst.push(...(await bursts(context, BURST, repeats.bursts)).ms)
    if (this.#subject.name !== 'iptables' || repeats.changes === 0) return
    await this.#started.stop()
    await this.#measureLimit(samples.limit, repeats)
  }

  async #change(n: number): Promise<number> {
    const service = pick(this.#cluster, n)
    const fresh = this.#comparison.freshAddress()
    const [, ...rest] = this.#cluster.endpointsOf(service)
    const { ms } = await timeChange({ prober: this.#prober }, [target(service, fresh)], () =>
      this.#cluster.setEndpoints(service, [...rest, fresh]),
    )
    await delay(this.#subject.pauseMs)
    return ms
  }

  /** Makes the same changes by iptables-restore alone, on the rules that the daemon has left. */
  async #measureLimit(into: Samples, repeats: SubjectRepeats): Promise<void> {
    const { folder, freshAddress } = this.#comparison
    const raw = new RawKernel(this.#topology.node, 'nft', folder)
    try {
      const [four, six] = [await raw.save(4), await raw.save(6)]
      const context = { cluster: this.#cluster, prober: this.#prober, freshAddress }
      const parts = { context, raw, saved: four, chains: new Map() }
      const changes = await rawReplace(parts, repeats.changes)
      into.change.push(...changes.ms)
      into.changeCpu.push(changes.cpuSecondsEach * 1_000)
      if (repeats.bursts > 0) into.burst.push(...(await rawBurst(parts, BURST, repeats.bursts)).ms)
      const full = await rawFullSync({ backend: 'nft', folder, four, six }, repeats.starts)
      into.start.push(...full.ms.map((ms) => ms / 1_000))
      into.startCpu.push(...full.cpuSeconds)
    } finally {
      raw.close()
    }
  }

  async end(): Promise<void> {
    await this.#started.stop()
    this.#prober.close()
    this.#topology.remove()
  }
}

function repeatsOf({ name }: Subject, all: ServiceRepeats): SubjectRepeats {
  const own = ([ours, peers]: readonly [number, number]) => (name === 'peer' ? peers : ours)
  return {
    starts: own(all.starts),
    changes: own(all.changes),
    bursts: own(all.bursts),
    idleSeconds: own(all.idleSeconds),
    connections: own(all.connections),
  }
}

function noSamples(): Samples {
  return {
    start: [],
    startCpu: [],
    peak: [],
    change: [],
    changeCpu: [],
    burst: [],
    idle: [],
    connect: [],
  }
}

/** Undefined for what was not measured at this size. */
function figureOf(
  name: Name,
  services: number,
  samples: Readonly<Record<Owner, Samples>>,
): Figure | undefined {
  const { what, unit, digits } = SHOWN[name]
  const ours = samples.nftables[name]
  if (ours.length === 0) return undefined
  const peers = samples.peer[name]
  const limits = samples.limit[name]
  const limit = name === 'connect' ? 'without a Service' : 'iptables-restore'
  return {
    what: `${what}, ${services.toLocaleString('en-US')} Services`,
    unit,
    digits,
    better: 'less',
    ours,
    iptables: samples.iptables[name],
    ...(peers.length > 0 ? { peer: { name: PEER, samples: peers } } : {}),
    ...(limits.length > 0 ? { limit: { name: limit, samples: limits } } : {}),
  }
}
