import type { Json } from '../../lib/json.ts'
import { nodeGroup, TAKEN } from '../cache/collections.ts'
import type { View } from '../cache/object-cache.ts'
import { NODE_TAINTS, type NodeObject, type Taint } from '../objects/node-object.ts'
import type { HostPort, PodObject } from '../objects/pod-object.ts'
import { amountOf } from '../objects/resources.ts'
import { isTolerated } from '../workloads/shared/node-match.ts'

/** The parts of the cluster on which the choice of a node depends. */
export type SchedulerView = Pick<View, 'nodes' | 'pods' | 'services' | 'namespaces'>

/** Why a node does not fit, in the words of Kubernetes. */
export type Reason = string

const ANY_ADDRESS = '0.0.0.0'
const UNSCHEDULABLE_TAINT = stateTaint(NODE_TAINTS.unschedulable)
const NOT_READY_TAINT = stateTaint(NODE_TAINTS.notReady)
const UNREACHABLE_TAINT = stateTaint(NODE_TAINTS.unreachable)

function stateTaint(key: string): Taint {
  return { key, value: '', effect: 'NoSchedule' }
}

/** The reason for which a Pod may not be bound to a node because of its state and taints; undefined: it may. */
export function refusedByState(
  { unschedulable, readiness, taints }: NodeObject,
  tolerations: readonly Json[],
): Reason | undefined {
  if (unschedulable && !isTolerated(UNSCHEDULABLE_TAINT, tolerations)) {
    return 'node(s) were unschedulable'
  }
  if (readiness.status !== 'True') {
    const taint = readiness.status === 'Unknown' ? UNREACHABLE_TAINT : NOT_READY_TAINT
    if (!isTolerated(taint, tolerations)) return untolerated(taint)
  }
  for (const taint of taints) {
    if (taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations)) {
      return untolerated(taint)
    }
  }
  return undefined
}

function untolerated({ key, value }: Taint): Reason {
  return `node(s) had untolerated taint {${key}: ${value}}`
}

/** Whether a port of a Pod is taken on a node. */
export function hasPortConflict(ports: readonly HostPort[], node: string, view: SchedulerView) {
  if (ports.length === 0) return false
  for (const other of view.pods.group(nodeGroup(node))) {
    if (!other.finished && other.hostPorts.some((a) => ports.some((b) => conflicts(a, b)))) {
      return true
    }
  }
  return false
}

function conflicts(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false
  return a.ip === b.ip || a.ip === ANY_ADDRESS || b.ip === ANY_ADDRESS
}

/** What a node has too little of for a Pod; empty: the Pod fits. */
export function insufficientResources(
  { requests }: Pick<PodObject, 'requests'>,
  { allocatable, maxPods }: NodeObject,
  taken: ReadonlyMap<string, number>,
): readonly Reason[] {
  const { cpuMillis, memory, storage, others } = requests
  const reasons: Reason[] = []
  if (exceeds(1, maxPods, taken.get(TAKEN.pods))) reasons.push('Too many pods')
  if (exceeds(cpuMillis, allocatable.cpuMillis, taken.get(TAKEN.cpuMillis)))
    reasons.push('Insufficient cpu')
  if (exceeds(memory, allocatable.memory, taken.get(TAKEN.memory)))
    reasons.push('Insufficient memory')
  if (exceeds(storage, allocatable.storage, taken.get(TAKEN.storage))) {
    reasons.push('Insufficient ephemeral-storage')
  }
  for (const [name, amount] of Object.entries(others)) {
    if (exceeds(amount, amountOf(allocatable, name), taken.get(name)))
      reasons.push(`Insufficient ${name}`)
  }
  return reasons
}

function exceeds(wanted: number, has: number, taken = 0): boolean {
  return wanted > 0 && wanted > has - taken
}
