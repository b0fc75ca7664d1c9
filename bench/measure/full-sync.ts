import type { Cluster } from '../cluster/cluster.ts'
import { type Daemon, startDaemon } from '../daemon/daemon.ts'
import { sumOf } from '../daemon/metrics.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Topology } from '../lab/topology.ts'
import type { Prober } from '../probe/prober.ts'
import type { Backend } from '../report/results.ts'
import { target } from './context.ts'

export interface FullSyncParts {
  readonly cluster: Cluster
  readonly topology: Topology
  readonly prober: Prober
  readonly backend: Backend
  readonly folder: string
  readonly boundMs: number
}

export interface FullSyncSample {
  readonly daemon: Daemon
  /** Undefined: the sync did not end within the bound. */
  readonly times: { readonly fromStart: number; readonly fromListed: number } | undefined
  readonly cpuSeconds: number
}

/**
 * Starts the daemon on an empty kernel and waits until the last Service answers and the daemon reports that the last
 * write is in the kernel. It reads the metrics only after packets get through, because serving them costs the daemon
 * time.
 */
export async function fullSync(parts: FullSyncParts): Promise<FullSyncSample> {
  const { cluster, topology, prober, boundMs } = parts
  const { url } = cluster
  const daemon = startDaemon({
    namespace: topology.node,
    url,
    proxy: parts.backend,
    folder: parts.folder,
  })
  const last = cluster.size - 1
  const metAt = await prober.met([target(last, ...cluster.endpointsOf(last))], {
    timeoutMs: boundMs,
    packets: 2,
    intervalMs: 5,
  })
  const left = boundMs - (performance.now() - daemon.startedAt)
  const synced = metAt !== undefined && (await daemon.until((all) => isApplied(cluster, all), left))
  const endedAt = performance.now()
  const cpu = cpuSeconds(daemon.pid)
  if (!synced) return { daemon, times: undefined, cpuSeconds: cpu }
  const listedAt = daemon.listedAt()
  if (listedAt === undefined) throw new Error('the daemon did not log when the cluster was listed')
  const times = { fromStart: endedAt - daemon.startedAt, fromListed: endedAt - listedAt }
  return { daemon, times, cpuSeconds: cpu }
}

/** Whether everything written so far is in the kernel. */
export function isApplied(cluster: Cluster, samples: Parameters<typeof sumOf>[0]): boolean {
  return [...cluster.written].every(([resource, revision]) => {
    const label = `resource="${resource}"`
    return sumOf(samples, 'nodeproxy_applied_resource_version', label) >= revision
  })
}
