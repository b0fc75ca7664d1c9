import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../../cluster/cluster.ts'
import { startDaemon } from '../../daemon/daemon.ts'
import { buildTopology } from '../../lab/topology.ts'
import { firstPacket } from '../../measure/first-packet.ts'
import { isApplied } from '../../measure/full-sync.ts'
import type { IptablesBeside } from '../../report/ipvs/results.ts'

export interface BesideParts {
  readonly cluster: Cluster
  readonly folder: string
  readonly serial: number
  readonly connections: number
  readonly boundMs: number
}

const SETTLE_MS = 2_000

/** Measures first packets in iptables mode, legacy variant, on the same kernel. */
export async function iptablesBeside(parts: BesideParts): Promise<IptablesBeside> {
  const { cluster, folder, connections, boundMs } = parts
  const topology = buildTopology(parts.serial)
  const daemon = startDaemon({
    namespace: topology.node,
    url: cluster.url,
    proxy: 'legacy',
    folder,
  })
  try {
    const synced = await daemon.until((all) => isApplied(cluster, all), boundMs)
    const fromStart = performance.now() - daemon.startedAt
    if (!synced) throw new Error(`no full sync in iptables mode within ${boundMs / 1_000} s`)
    await delay(SETTLE_MS)
    return { firstPacket: firstPacket({ topology, cluster }, connections), fromStart }
  } finally {
    await daemon.stop()
    topology.remove()
  }
}
