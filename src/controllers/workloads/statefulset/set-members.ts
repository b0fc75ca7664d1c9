import { stringAt, valueAt } from '../../../lib/json.ts'
import type { View } from '../../cache/object-cache.ts'
import { keyOf } from '../../objects/object-meta.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import { countAt, isRollingUpdate, type WorkloadObject } from '../../objects/workload-object.ts'
import { scaledValue } from '../shared/scaled-value.ts'

/** The name of a Pod: that of its StatefulSet, and an ordinal without leading zeros. */
const POD_NAME = /^(.+)-(0|[1-9]\d{0,9})$/

/** The place of one Pod in a StatefulSet. */
export interface Slot {
  readonly ordinal: number
  /** `NAME-ORDINAL`. */
  readonly name: string
  /** The position among the slots: 0 for the first ordinal, whatever that is. */
  readonly index: number
  /** Undefined: there is none. */
  readonly pod: PodObject | undefined
  /** A Pod that has the name but does not belong to the set, which therefore cannot create its own. */
  readonly foreign: PodObject | undefined
}

/** The Pods of a StatefulSet by their ordinals. */
export interface Members {
  /** In ascending order. */
  readonly slots: readonly Slot[]
  /** Pods whose ordinals the set does not have, with the greatest first. */
  readonly condemned: readonly PodObject[]
}

/** Whether the name of the Pod is that of this StatefulSet, followed by an ordinal. */
export function isNamedAfter(set: WorkloadObject, pod: PodObject): boolean {
  return ordinalOf(set, pod) !== undefined
}

/**
 * The key of the StatefulSet after which the Pod with this key is named, if there is such a set. A key ends with the
 * name, so `POD_NAME` fits keys as well.
 */
export function setNamedBy(key: string, view: View): readonly string[] {
  const set = POD_NAME.exec(key)?.[1]
  return set !== undefined && view.statefulsets.get(set) !== undefined ? [set] : []
}

/** The places of a StatefulSet and the Pods in them. */
export function membersOf(set: WorkloadObject, pods: readonly PodObject[], view: View): Members {
  const byName = new Map(pods.map((pod) => [pod.meta.name, pod]))
  const start = countAt(set.spec, 0, 'ordinals', 'start')
  const slots = Array.from({ length: set.replicas }, (_, index): Slot => {
    const name = `${set.meta.name}-${start + index}`
    const pod = byName.get(name)
    const foreign = pod === undefined ? view.pods.get(keyOf({ ...set.meta, name })) : undefined
    return { ordinal: start + index, name, index, pod, foreign }
  })
  const isWithin = (ordinal: number): boolean => ordinal >= start && ordinal < start + set.replicas
  const condemned = pods
    .map((pod) => ({ pod, ordinal: ordinalOf(set, pod) ?? -1 }))
    .filter(({ ordinal }) => !isWithin(ordinal))
    .toSorted((a, b) => b.ordinal - a.ordinal)
  return { slots, condemned: condemned.map(({ pod }) => pod) }
}

function ordinalOf({ meta }: WorkloadObject, pod: PodObject): number | undefined {
  const [, set, ordinal] = POD_NAME.exec(pod.meta.name) ?? []
  return set === meta.name ? Number(ordinal) : undefined
}

/** In which order the Pods of a StatefulSet are created, and how they are replaced. */
export interface SetPolicy {
  /** One Pod after another, each when those before it are available. */
  readonly isOrdered: boolean
  /** Whether Pods of an old template are replaced. Otherwise a Pod keeps its template until another client deletes it. */
  readonly isRolling: boolean
  /** Pods with a smaller index keep their template. */
  readonly partition: number
  /** How many Pods may be unavailable while Pods are replaced; 1 at least. */
  readonly maxUnavailable: number
}

/** The policy of a StatefulSet. */
export function policyOf({ spec, replicas }: WorkloadObject): SetPolicy {
  const isRolling = isRollingUpdate({ spec })
  const rolling = valueAt(spec, 'updateStrategy', 'rollingUpdate')
  const scaled = scaledValue(valueAt(rolling, 'maxUnavailable') ?? 1, replicas, 'down')
  return {
    isOrdered: stringAt(spec, 'podManagementPolicy') !== 'Parallel',
    isRolling,
    partition: isRolling ? countAt(spec, 0, 'updateStrategy', 'rollingUpdate', 'partition') : 0,
    maxUnavailable: Math.max(1, scaled),
  }
}
