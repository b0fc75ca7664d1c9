import type { Cluster } from '../../cluster/cluster.ts'
import { type Daemon, startDaemon } from '../../daemon/daemon.ts'
import { cpuSeconds } from '../../daemon/process-tree.ts'
import type { Topology } from '../../lab/topology.ts'
import { isApplied } from '../../measure/full-sync.ts'
import { type KernelView, spread } from '../kernel-view.ts'

export interface FullSyncParts {
  readonly cluster: Cluster
  readonly topology: Topology
  readonly view: KernelView
  readonly folder: string
  readonly boundMs: number
}

export interface FullSyncSample {
  readonly daemon: Daemon
  readonly fromStart: number
  readonly fromListed: number
  readonly cpuSeconds: number
}

const POLL_MS = 25

/**
 * Starts the daemon on an empty kernel and waits until virtual servers spread over the cluster are complete and the
 * daemon reports that it is ready. Only then it reads the daemon's metrics, because serving them costs the daemon time,
 * and checks that they include the last write. Finally it checks every virtual server.
 */
export async function fullSync(parts: FullSyncParts): Promise<FullSyncSample> {
  const { cluster, topology, view, folder, boundMs } = parts
  const daemon = startDaemon({
    namespace: topology.node,
    url: cluster.url,
    proxy: 'ipvs',
    folder,
  })
  try {
    const left = () => boundMs - (performance.now() - daemon.startedAt)
    const limits = { timeoutMs: boundMs, pauseMs: POLL_MS }
    const seenAt = await view.seen(spread(cluster.size), limits)
    const synced = seenAt !== undefined && (await daemon.untilReady(left()))
    const endedAt = performance.now()
    if (!synced) throw new Error(`no full sync within ${boundMs / 1_000} s`)
    const cpu = cpuSeconds(daemon.pid)
    demandAll(view, cluster.size)
    if (!isApplied(cluster, await daemon.metrics())) throw new Error('ready before the last write')
    const listedAt = daemon.listedAt()
    if (listedAt === undefined)
      throw new Error('the daemon did not log when the cluster was listed')
    return {
      daemon,
      fromStart: endedAt - daemon.startedAt,
      fromListed: endedAt - listedAt,
      cpuSeconds: cpu,
    }
  } catch (error) {
    await daemon.stop()
    throw error
  }
}

/** Throws unless every virtual server has its ten real servers. */
export function demandAll(view: KernelView, size: number): void {
  for (let service = 0; service < size; service++) {
    if (!view.holds(service)) throw new Error(`virtual server ${service} is not complete`)
  }
}
