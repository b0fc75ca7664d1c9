import type { Cluster } from '../cluster/cluster.ts'
import type { Daemon } from '../daemon/daemon.ts'
import type { Topology } from '../lab/topology.ts'
import type { KernelView } from './kernel-view.ts'

/** A daemon in ipvs mode after its full sync, with everything that changes are made with and observed by. */
export interface IpvsContext {
  readonly cluster: Cluster
  readonly topology: Topology
  readonly view: KernelView
  readonly daemon: Daemon
  /** An endpoint address that was never used. */
  readonly freshAddress: () => number
}
