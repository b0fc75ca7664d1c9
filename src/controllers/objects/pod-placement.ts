import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  stringsAt,
  valueAt,
} from '../../lib/json.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'
import type { ObjectMeta } from './object-meta.ts'
import {
  equalities,
  type PodTerm,
  type Requirements,
  readPodTerm,
  readSelector,
} from './requirements.ts'

/** Where a Pod may run, and where it should preferably run. Read only of Pods that the scheduler has to bind. */
export interface Placement {
  /** The condition `PodScheduled`. */
  readonly condition: StatusCondition
  /** Whether the Pod has `schedulingGates`, which hold it. */
  readonly isGated: boolean
  /** The part of the spec that selects nodes: `nodeSelector` and `affinity`. */
  readonly selection: JsonObject
  /** Terms of node selectors. */
  readonly preferredNodes: readonly Weighted<Json>[]
  /** Pods that have to run in the same place. */
  readonly affinity: readonly PodTerm[]
  /** The Pod should preferably run in the same place as these Pods; with a negative weight, in another place. */
  readonly preferredPods: readonly Weighted<PodTerm>[]
  readonly spread: readonly SpreadConstraint[]
}

/** A preference. */
export interface Weighted<T> {
  readonly weight: number
  readonly term: T
}

/** One of `topologySpreadConstraints`: how Pods of the namespace are to be spread over places. */
export interface SpreadConstraint {
  /** The label of Nodes whose value is the place. */
  readonly topologyKey: string
  readonly maxSkew: number
  /** If there are fewer places than this, the least number of Pods in a place counts as 0. */
  readonly minDomains: number
  /** `DoNotSchedule`; else the spread is only a preference. */
  readonly isRequired: boolean
  readonly selector: Requirements
  /** Whether only nodes count that the Pod selects. */
  readonly honorsSelection: boolean
  /** Whether only nodes count whose taints it tolerates. */
  readonly honorsTaints: boolean
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

const NO_TERMS: readonly PodTerm[] = []

/** The required anti-affinity of a Pod. Once it runs, it also keeps the other Pods out of its place. */
export function readAntiAffinity(spec: JsonObject, { namespace }: ObjectMeta): readonly PodTerm[] {
  const terms = arrayAt(spec, 'affinity', 'podAntiAffinity', REQUIRED)
  return terms.length === 0 ? NO_TERMS : terms.map((term) => readPodTerm(term, namespace))
}

/** Reads what the scheduler has to know of a Pod without a node. */
export function readPlacement(spec: JsonObject, status: JsonObject, meta: ObjectMeta): Placement {
  const node = objectAt(spec, 'affinity', 'nodeAffinity')
  const pods = objectAt(spec, 'affinity', 'podAffinity')
  const others = objectAt(spec, 'affinity', 'podAntiAffinity')
  const podTerm = (term: Json | undefined): PodTerm => readPodTerm(term, meta.namespace)
  return {
    condition: readCondition(status, 'PodScheduled'),
    isGated: arrayAt(spec, 'schedulingGates').length > 0,
    selection: {
      nodeSelector: objectAt(spec, 'nodeSelector'),
      affinity: objectAt(spec, 'affinity'),
    },
    preferredNodes: weighted(node, 'preference', (term = {}) => term),
    affinity: arrayAt(pods, REQUIRED).map(podTerm),
    preferredPods: [
      ...weighted(pods, 'podAffinityTerm', podTerm),
      ...weighted(others, 'podAffinityTerm', podTerm).map((one) => ({
        ...one,
        weight: -one.weight,
      })),
    ],
    spread: arrayAt(spec, 'topologySpreadConstraints').map((one) => readSpread(one, meta)),
  }
}

function weighted<T>(
  affinity: JsonObject,
  key: string,
  read: (term: Json | undefined) => T,
): readonly Weighted<T>[] {
  return arrayAt(affinity, PREFERRED).map((one) => ({
    weight: numberAt(one, 'weight', 0),
    term: read(valueAt(one, key)),
  }))
}

function readSpread(constraint: Json, { labels }: ObjectMeta): SpreadConstraint {
  const selector = readSelector(valueAt(constraint, 'labelSelector'))
  const own = stringsAt(constraint, 'matchLabelKeys').filter((key) => Object.hasOwn(labels, key))
  const same = Object.fromEntries(own.map((key) => [key, labels[key] ?? '']))
  return {
    topologyKey: stringAt(constraint, 'topologyKey'),
    maxSkew: numberAt(constraint, 'maxSkew', 1),
    minDomains: numberAt(constraint, 'minDomains', 1),
    isRequired: stringAt(constraint, 'whenUnsatisfiable') !== 'ScheduleAnyway',
    selector: selector && [...selector, ...equalities(same)],
    honorsSelection: stringAt(constraint, 'nodeAffinityPolicy') !== 'Ignore',
    honorsTaints: stringAt(constraint, 'nodeTaintsPolicy') === 'Honor',
  }
}

function numberAt(object: Json, key: string, otherwise: number): number {
  const value = valueAt(object, key)
  return typeof value === 'number' ? value : otherwise
}
