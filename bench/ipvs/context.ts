import type { Cluster } from '../cluster/cluster.ts'
import type { Daemon } from '../daemon/daemon.ts'
import type { Topology } from '../lab/topology.ts'
import type { KernelView } from './kernel-view.ts'

/** A daemon in ipvs mode that has synchronised, and everything to change and to observe. */
export interface IpvsContext {
  readonly cluster: Cluster
  readonly topology: Topology
  readonly view: KernelView
  readonly daemon: Daemon
  /** An endpoint address that was never used. */
  readonly freshAddress: () => number
}
