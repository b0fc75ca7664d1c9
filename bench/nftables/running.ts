import type { Cluster } from '../cluster/cluster.ts'
import { type Daemon, startDaemon } from '../daemon/daemon.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import { buildTopology, type Topology } from '../lab/topology.ts'
import { target } from '../measure/context.ts'
import { isApplied } from '../measure/full-sync.ts'
import { Prober } from '../probe/prober.ts'
import type { NftablesCellParts } from './cell-parts.ts'

/** A ready daemon in nftables mode, and the cost of its start. */
export interface Running {
  readonly cluster: Cluster
  readonly topology: Topology
  readonly prober: Prober
  readonly daemon: Daemon
  readonly fromStart: number
  readonly fromListed: number
  readonly cpuSeconds: number
  stop(): Promise<void>
}

export interface StartOptions {
  readonly environment?: Readonly<Record<string, string>>
  /** Fields of the configuration, in place of their defaults. */
  readonly settings?: object
  /** Whether packets are sent until one gets through; otherwise only the readiness of the daemon counts. */
  readonly isProbed?: boolean
}

/** A node without rules. */
export interface EmptyNode {
  readonly topology: Topology
  readonly prober: Prober
  remove(): void
}

export function emptyNode({ freshSerial }: Pick<NftablesCellParts, 'freshSerial'>): EmptyNode {
  const topology = buildTopology(freshSerial())
  const prober = new Prober(topology)
  return {
    topology,
    prober,
    remove() {
      prober.close()
      topology.remove()
    },
  }
}

/**
 * Starts the daemon on an empty node and waits until the last Service answers and the daemon reports that it is ready.
 * Its metrics, which must show that the last write is in the kernel, are read afterwards, because serving them costs
 * the daemon time.
 */
export async function startRunning(
  parts: NftablesCellParts,
  node: EmptyNode,
  { environment, settings, isProbed = true }: StartOptions = {},
): Promise<Running> {
  const { cluster, folder, repeats } = parts
  const { topology, prober } = node
  const daemon = startDaemon({
    namespace: topology.node,
    url: cluster.url,
    proxy: 'nftables',
    folder,
    ...(environment && { environment }),
    ...(settings && { settings }),
  })
  const stop = async () => {
    await daemon.stop()
    node.remove()
  }
  try {
    const left = () => repeats.boundMs - (performance.now() - daemon.startedAt)
    const isServed = !isProbed || (await isLastServed(cluster, prober, repeats.boundMs))
    const isReady = isServed && (await daemon.untilReady(left()))
    const endedAt = performance.now()
    const cpu = cpuSeconds(daemon.pid)
    if (!isReady) throw new Error(`no full sync within ${repeats.boundMs / 1_000} s`)
    if (!isApplied(cluster, await daemon.metrics())) throw new Error('ready before the last write')
    const listedAt = daemon.listedAt()
    if (listedAt === undefined)
      throw new Error('the daemon did not log when the cluster was listed')
    return {
      cluster,
      topology,
      prober,
      daemon,
      stop,
      cpuSeconds: cpu,
      fromStart: endedAt - daemon.startedAt,
      fromListed: endedAt - listedAt,
    }
  } catch (error) {
    for (const complaint of daemon.complaints()) parts.log(`the daemon logged: ${complaint}`)
    await stop()
    throw error
  }
}

async function isLastServed(cluster: Cluster, prober: Prober, timeoutMs: number): Promise<boolean> {
  const last = cluster.size - 1
  const targets = [target(last, ...cluster.endpointsOf(last))]
  return (await prober.met(targets, { timeoutMs, packets: 2, intervalMs: 5 })) !== undefined
}
