import type { FrontendProblem } from '../../../forwarding/problems.ts'
import type { Family, IpAddress } from '../../../lib/ip.ts'
import type { MissingRequirement } from '../../../modes/mode.ts'
import type { Direction } from '../../../networkpolicy/network-policy.ts'

/** What would happen to one object of the kernel. */
export interface PlannedObject {
  readonly action: 'add' | 'change' | 'remove'
  /** The name by which the mode knows it: `4/nat/NPROXY-SERVICES`, `vs/4/tcp/10.96.0.1:80`. */
  readonly key: string
  /** `chain`, `set`, `virtual_server`, …: as in the metrics of objects. */
  readonly kind: string
  readonly family: Family | undefined
  /** What the object holds now, as the mode writes it; absent: not known. */
  readonly before?: readonly string[]
  /** What the object would hold; absent: the mode does not describe it. */
  readonly after?: readonly string[]
}

/** The objects of one Service. */
export interface PlannedService {
  /** `namespace/name` */
  readonly service: string
  readonly objects: readonly PlannedObject[]
}

/** Conntrack entries that would be deleted, of one frontend. */
export interface PlannedFlows {
  /** `10.96.0.10:53/UDP`, `node:30053/UDP` */
  readonly frontend: string
  readonly count: number
}

/** What another mode has in the kernel, and what is removed when the new mode is complete. */
export interface PlannedCleanup {
  readonly mode: string
  /** Whether connections may keep a part of these objects in use for a while. */
  readonly drains: boolean
  /** Number of objects by kind. */
  readonly objects: Readonly<Record<string, number>>
}

/** A change of the policies that isolate one Pod of this node in one direction. */
export interface PlannedIsolation {
  readonly direction: Direction
  /** `namespace/name` */
  readonly pod: string
  readonly ip: IpAddress
  /** NetworkPolicies as `namespace/name`, ClusterNetworkPolicies by name; none: every connection is admitted. */
  readonly before: readonly string[]
  /** Equal to `before`: the rules of one of them change. */
  readonly after: readonly string[]
}

/** What a start, or the next run, of node-proxy would change on this node. */
export interface NodePlan {
  readonly mode: string
  readonly nodeName: string
  /** Numbers of objects to set and to remove. */
  readonly set: number
  readonly unset: number
  /** Sorted by name. */
  readonly services: readonly PlannedService[]
  /** Objects that all Services share, and those of Services that do not exist any more. */
  readonly shared: readonly PlannedObject[]
  /** Conntrack entries that would be deleted. */
  readonly flowCount: number
  readonly flows: readonly PlannedFlows[]
  readonly cleanups: readonly PlannedCleanup[]
  readonly isolations: readonly PlannedIsolation[]
  /** Frontends that would not be served. */
  readonly problems: readonly Pick<FrontendProblem, 'entry' | 'code' | 'message'>[]
  /** Which objects could not be used, and what plan cannot know: one sentence each. */
  readonly notes: readonly string[]
  readonly caveats: readonly MissingRequirement[]
}

/** Whether anything would change. */
export function wouldChange({ set, unset, flowCount, cleanups, isolations }: NodePlan): boolean {
  return set + unset + flowCount + cleanups.length + isolations.length > 0
}
