import { objectAt, valueAt } from '../../../lib/json.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import { isRollingUpdate, type WorkloadObject } from '../../objects/workload-object.ts'
import { scaledValue } from '../shared/scaled-value.ts'

/** A node that should run a Pod, in a rollout. */
export interface RolloutNode {
  readonly name: string
  /** Its Pods of the present template and of others, without those that have ended or are being deleted. */
  readonly updated: readonly PodObject[]
  readonly outdated: readonly PodObject[]
}

/** What a rollout does next. */
export interface RolloutStep {
  readonly deletions: readonly PodObject[]
  /** Names of nodes that get a Pod of the present template beside the one that they have. */
  readonly creations: readonly string[]
}

/** How many nodes may be without an available Pod, or have two, while Pods are replaced. */
export interface RolloutLimits {
  readonly maxUnavailable: number
  readonly maxSurge: number
}

const NO_STEP: RolloutStep = { deletions: [], creations: [] }

/** The limits for a DaemonSet that should have Pods on this many nodes; without surge one node is unavailable at least. */
export function rolloutLimits({ spec }: WorkloadObject, desired: number): RolloutLimits {
  const rolling = objectAt(spec, 'updateStrategy', 'rollingUpdate')
  const maxSurge = scaledValue(valueAt(rolling, 'maxSurge'), desired, 'up')
  const maxUnavailable = scaledValue(valueAt(rolling, 'maxUnavailable') ?? 1, desired, 'up')
  return { maxSurge, maxUnavailable: maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable }
}

/** Whether a node may have a Pod of the present template beside an old one. */
export function allowsSurge(set: WorkloadObject): boolean {
  return isRollingUpdate(set) && rolloutLimits(set, 1).maxSurge > 0
}

/** The next step of a rollout, of nodes in the order in which they are taken. */
export function rolloutStep(
  set: WorkloadObject,
  nodes: readonly RolloutNode[],
  isAvailable: (pod: PodObject) => boolean,
): RolloutStep {
  if (!isRollingUpdate(set)) return NO_STEP
  const { maxUnavailable, maxSurge } = rolloutLimits(set, nodes.length)
  return maxSurge === 0
    ? { deletions: replaced(nodes, maxUnavailable, isAvailable), creations: [] }
    : surged(nodes, maxSurge, isAvailable)
}

/**
 * The old Pods to delete. A node gets a new Pod when the old one is gone. An old Pod that is not available is deleted at
 * once: this makes no other node unavailable.
 */
function replaced(
  nodes: readonly RolloutNode[],
  maxUnavailable: number,
  isAvailable: (pod: PodObject) => boolean,
): readonly PodObject[] {
  const isServed = ({ updated, outdated }: RolloutNode): boolean =>
    [...updated, ...outdated].some(isAvailable)
  const old = nodes.flatMap(({ updated, outdated }) =>
    updated.length === 0 && outdated.length === 1 ? outdated : [],
  )
  const unavailable = nodes.filter((node) => !isServed(node)).length
  const spare = Math.max(0, maxUnavailable - unavailable)
  return [...old.filter((pod) => !isAvailable(pod)), ...old.filter(isAvailable).slice(0, spare)]
}

/**
 * Makes new Pods beside old ones, and deletes an old Pod when the new one is available. Where the old Pod is not
 * available, the new one is made at once, whatever `maxSurge` permits.
 */
function surged(
  nodes: readonly RolloutNode[],
  maxSurge: number,
  isAvailable: (pod: PodObject) => boolean,
): RolloutStep {
  const pending = nodes.filter(({ updated, outdated }) => updated.length > 0 && outdated.length > 0)
  const isDone = ({ updated }: RolloutNode): boolean => updated.some(isAvailable)
  const waiting = nodes.filter(
    ({ updated, outdated }) => updated.length === 0 && outdated.length > 0,
  )
  const isUnserved = ({ outdated }: RolloutNode): boolean => !outdated.some(isAvailable)
  const spare = Math.max(0, maxSurge - pending.filter((node) => !isDone(node)).length)
  return {
    deletions: pending.filter(isDone).flatMap(({ outdated }) => outdated),
    creations: [
      ...waiting.filter(isUnserved),
      ...waiting.filter((node) => !isUnserved(node)).slice(0, spare),
    ].map(({ name }) => name),
  }
}
