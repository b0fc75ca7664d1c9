import { buildTopology } from '../lab/topology.ts'
import type { IpvsFullSync, RawFill } from '../report/ipvs/results.ts'
import type { IpvsCellParts, IpvsDraft } from './cell-parts.ts'
import type { IpvsContext } from './context.ts'
import { KernelView } from './kernel-view.ts'
import { type FullSyncSample, fullSync } from './measure/full-sync.ts'
import { fillOnce } from './measure/raw-fill.ts'
import type { SenderReport } from './raw/order.ts'

/**
 * Measures the minimal sender and the daemon alternately, each on an empty kernel, so that other load affects both. The
 * last daemon keeps running.
 */
export async function coldStarts(parts: IpvsCellParts, measured: IpvsDraft): Promise<IpvsContext> {
  const { cluster, folder, freshAddress, repeats } = parts
  const raw: SenderReport[] = []
  const samples: FullSyncSample[] = []
  for (let n = 1; ; n++) {
    parts.log(`full sync ${n} of ${repeats.fullSync}`)
    raw.push(await fillOnce(cluster.size))
    measured.rawFullSync = toFill(raw)
    const topology = buildTopology(parts.freshSerial())
    const view = new KernelView(topology.node)
    const leave = () => {
      view.close()
      topology.remove()
    }
    try {
      const sample = await fullSync({ cluster, topology, view, folder, boundMs: repeats.boundMs })
      samples.push(sample)
      measured.fullSync = toFullSync(samples)
      const { daemon } = sample
      if (n === repeats.fullSync) return { cluster, topology, view, daemon, freshAddress }
      await daemon.stop()
    } catch (error) {
      leave()
      throw error
    }
    leave()
  }
}

function toFullSync(samples: readonly FullSyncSample[]): IpvsFullSync {
  return {
    fromStart: samples.map(({ fromStart }) => fromStart),
    fromListed: samples.map(({ fromListed }) => fromListed),
    cpuSeconds: samples.map(({ cpuSeconds }) => cpuSeconds),
  }
}

function toFill(reports: readonly SenderReport[]): RawFill {
  return {
    sender: reports.flatMap(({ ms }) => ms),
    messages: Math.max(...reports.map(({ messages }) => messages)),
    senderCpuSeconds: reports.map(({ cpuSeconds }) => cpuSeconds),
    senderPeakKib: Math.max(...reports.map(({ peakKib }) => peakKib)),
    ipvsadm: [],
  }
}
