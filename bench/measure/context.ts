import type { Cluster } from '../cluster/cluster.ts'
import type { Daemon } from '../daemon/daemon.ts'
import type { Topology } from '../lab/topology.ts'
import type { Prober, Target, WaitOptions } from '../probe/prober.ts'
import type { Backend } from '../report/results.ts'

/** A daemon that has synchronised, and everything to change and to observe. */
export interface Context {
  readonly backend: Backend
  readonly cluster: Cluster
  readonly topology: Topology
  readonly prober: Prober
  readonly daemon: Daemon
  /** An endpoint address that was never used. */
  readonly freshAddress: () => number
}

/** Sees when a change is in the kernel. */
export interface Observer {
  /** `performance.now()` when the last target was met; undefined after the timeout. */
  met(targets: readonly Target[], options: WaitOptions): Promise<number | undefined>
}

/** What changes are measured with, in any mode. */
export interface ChangeContext extends Pick<Context, 'cluster' | 'daemon' | 'freshAddress'> {
  readonly prober: Observer
}

/** First packets per round for one Service: 9 of 10 rounds meet an endpoint out of ten. */
export const PACKETS = 20
export const CHANGE_TIMEOUT_MS = 20_000

/** Services spread over all of the cluster: number `n` of a series. */
export function pick(cluster: Cluster, n: number): number {
  return (n * 7_919) % cluster.size
}

/** A new connection to this Service meets this endpoint. */
export function target(service: number, ...endpoints: readonly number[]): Target {
  return { service, endpoints: new Set(endpoints) }
}
