import type { NodeObject } from '../objects/node-object.ts'
import type { Totals } from './totals.ts'

/** The processors of the nodes that run Pods, as the Nodes report them. */
export interface ZoneCapacity {
  /** Thousandths of processors of the ready nodes in each zone; greater than 0. */
  readonly zones: ReadonlyMap<string, number>
  /** Ready nodes without a zone or without allocatable processors. */
  readonly incomplete: number
}

const INCOMPLETE = 'incomplete'
const ZONE = 'zone '
/** Ten thousand processors. No machine has more, and sums over 5,000 such nodes are exact. */
const MAX_CPU_MILLIS = 1e7

/** What a Node adds to the capacity. Nodes that are not ready, and nodes of the control plane, add nothing. */
export function capacityOf({ zone, cpuMillis, controlPlane, readiness }: NodeObject): Totals {
  if (controlPlane || readiness.status !== 'True') return []
  const isKnown = zone !== '' && cpuMillis > 0 && cpuMillis <= MAX_CPU_MILLIS
  return isKnown ? [[`${ZONE}${zone}`, cpuMillis]] : [[INCOMPLETE, 1]]
}

/** The capacity from the totals of all Nodes. */
export function readCapacity(totals: ReadonlyMap<string, number>): ZoneCapacity {
  const zones = [...totals]
    .filter(([name]) => name.startsWith(ZONE))
    .map(([name, millis]): [string, number] => [name.slice(ZONE.length), millis])
  return { zones: new Map(zones), incomplete: totals.get(INCOMPLETE) ?? 0 }
}
