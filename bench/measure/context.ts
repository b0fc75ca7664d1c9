import type { Cluster } from '../cluster/cluster.ts'
import type { Daemon } from '../daemon/daemon.ts'
import type { Topology } from '../lab/topology.ts'
import type { Prober, Target, WaitOptions } from '../probe/prober.ts'
import type { Backend } from '../report/results.ts'

/** A daemon after its full sync, with everything that changes are made with and observed by. */
export interface Context {
  readonly backend: Backend
  readonly cluster: Cluster
  readonly topology: Topology
  readonly prober: Prober
  readonly daemon: Daemon
  /** An endpoint address that was never used. */
  readonly freshAddress: () => number
}

/** Finds out when a change is in the kernel. */
export interface Observer {
  /** `performance.now()` when the last target was met; undefined after the timeout. */
  met(targets: readonly Target[], options: WaitOptions): Promise<number | undefined>
}

/** What is used to measure changes in any mode. */
export interface ChangeContext extends Pick<Context, 'cluster' | 'daemon' | 'freshAddress'> {
  readonly prober: Observer
}

/** What is used to measure changes by a program of which nothing is known. */
export type AnyChangeContext = Omit<ChangeContext, 'daemon'>

/** First packets per round for one Service; with these, 9 of 10 rounds reach a given one of ten endpoints. */
export const PACKETS = 20
/** Ends a run that hangs. kube-proxy, which writes everything again, takes more than 20 s at 10,000 Services. */
export const CHANGE_TIMEOUT_MS = 120_000

/** Number `n` of a series of Services that are spread over the cluster. */
export function pick(cluster: Cluster, n: number): number {
  return (n * 7_919) % cluster.size
}

/** The target that a new connection to this Service reaches one of these endpoints. */
export function target(service: number, ...endpoints: readonly number[]): Target {
  return { service, endpoints: new Set(endpoints) }
}
