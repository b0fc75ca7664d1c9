import type { Cluster } from './cluster/cluster.ts'
import { ChildPeak } from './daemon/child-peak.ts'
import { memoryOf } from './daemon/process-tree.ts'
import { buildTopology, type Topology } from './lab/topology.ts'
import { addServices } from './measure/add-service.ts'
import { bursts } from './measure/burst.ts'
import type { Context } from './measure/context.ts'
import { firstPacket } from './measure/first-packet.ts'
import { type FullSyncSample, fullSync } from './measure/full-sync.ts'
import { idle } from './measure/idle.ts'
import { memoryUse } from './measure/memory.ts'
import { programmedObjects } from './measure/objects.ts'
import { probeOverhead } from './measure/probe-overhead.ts'
import { rawBurst, rawReplace } from './measure/raw-changes.ts'
import { rawFullSync } from './measure/raw-full-sync.ts'
import { replaceEndpoints } from './measure/replace-endpoint.ts'
import { Prober } from './probe/prober.ts'
import { RawKernel } from './raw/raw-kernel.ts'
import type { SavedRules } from './raw/saved-rules.ts'
import type { Repeats } from './repeats.ts'
import type { Backend, Cell, Measured } from './report/results.ts'

export interface CellParts {
  readonly cluster: Cluster
  readonly backend: Backend
  readonly folder: string
  readonly repeats: Repeats
  readonly log: (what: string) => void
  readonly freshSerial: () => number
  readonly freshAddress: () => number
}

type Draft = { -readonly [Key in keyof Measured]?: Measured[Key] }

/** Measures all figures of one size with one variant. A failure keeps the figures that were measured before it. */
export async function measureCell(parts: CellParts): Promise<Cell> {
  const { backend, cluster } = parts
  const measured: Draft = {}
  const cell = { services: cluster.size, backend, measured }
  try {
    await measureAll(parts, measured)
    return cell
  } catch (error) {
    const unfinished = error instanceof Error ? error.message : String(error)
    parts.log(`stopped: ${unfinished}`)
    return { ...cell, unfinished: unfinished.slice(0, 300) }
  }
}

async function measureAll(parts: CellParts, measured: Draft): Promise<void> {
  const { backend, cluster, folder, repeats, log } = parts
  const running = await coldStarts(parts, measured)
  const { topology, context } = running
  const raw = new RawKernel(topology.node, backend, folder)
  try {
    measured.objects = programmedObjects(await context.daemon.metrics())
    const afterSync = memoryOf(context.daemon.pid)?.peak ?? 0
    const [four, six] = [await raw.save(4), await raw.save(6)]
    log('idle')
    measured.idle = await idle(context, repeats.idleSeconds)
    measured.probe = await probeOverhead(context)
    log('connections')
    measured.firstPacket = firstPacket(context, repeats.connections)
    await measureChanges(context, { measured, repeats, log })
    measured.memory = await memoryUse(context, running.children, afterSync)
    for (const complaint of context.daemon.complaints()) log(`the daemon logged: ${complaint}`)
    await context.daemon.stop()
    await measureRaw({ parts, measured, context, raw, four, six })
  } finally {
    running.children.stop()
    raw.close()
    await context.daemon.stop()
    context.prober.close()
    topology.remove()
  }
  log(`done with ${cluster.size} Services, ${backend}`)
}

interface Running {
  readonly topology: Topology
  readonly context: Context
  readonly children: ChildPeak
}

/** Starts the daemon on an empty kernel several times; the last one keeps running. */
async function coldStarts(parts: CellParts, measured: Draft): Promise<Running> {
  const samples: FullSyncSample[] = []
  for (let n = 1; ; n++) {
    parts.log(`full sync ${n} of ${parts.repeats.fullSync}`)
    const topology = buildTopology(parts.freshSerial())
    const prober = new Prober(topology)
    const sample = await fullSync({ ...parts, topology, prober, boundMs: parts.repeats.boundMs })
    samples.push(sample)
    const children = new ChildPeak(sample.daemon.pid)
    const context = { ...parts, topology, prober, daemon: sample.daemon }
    if (sample.times !== undefined) measured.fullSync = toFullSync(samples)
    if (sample.times !== undefined && n === parts.repeats.fullSync)
      return { topology, context, children }
    children.stop()
    await sample.daemon.stop()
    prober.close()
    topology.remove()
    if (sample.times === undefined)
      throw new Error(`no full sync within ${parts.repeats.boundMs / 1_000} s`)
  }
}

function toFullSync(samples: readonly FullSyncSample[]): Measured['fullSync'] {
  const times = samples.flatMap((sample) => sample.times ?? [])
  return {
    fromStart: times.map(({ fromStart }) => fromStart),
    fromListed: times.map(({ fromListed }) => fromListed),
    cpuSeconds: samples.map(({ cpuSeconds }) => cpuSeconds),
  }
}

async function measureChanges(
  context: Context,
  { measured, repeats, log }: { measured: Draft; repeats: Repeats; log: CellParts['log'] },
): Promise<void> {
  log(`${repeats.replace} endpoints replaced`)
  measured.replace = await replaceEndpoints(context, repeats.replace)
  log(`${repeats.add} Services added`)
  measured.add = await addServices(context, repeats.add)
  log(`bursts of ${repeats.burst}`)
  measured.burst = await bursts(context, repeats.burst, repeats.bursts)
}

interface RawMeasure {
  readonly parts: CellParts
  readonly measured: Draft
  readonly context: Context
  readonly raw: RawKernel
  readonly four: SavedRules
  readonly six: SavedRules
}

async function measureRaw({ parts, measured, context, raw, four, six }: RawMeasure): Promise<void> {
  const { repeats, log } = parts
  log('the same changes by iptables-restore alone')
  const rawParts = { context, raw, saved: await raw.save(4), chains: new Map() }
  measured.rawReplace = await rawReplace(rawParts, repeats.rawReplace)
  measured.rawBurst = await rawBurst(rawParts, repeats.burst, repeats.bursts)
  log('the full text by iptables-restore alone')
  measured.rawFullSync = await rawFullSync({ ...parts, four, six }, repeats.fullSync)
}
