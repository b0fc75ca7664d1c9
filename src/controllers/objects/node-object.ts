import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { READY } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { wholeQuantity } from '../../resources/quantity.ts'
import {
  findCondition,
  readCondition,
  type StatusCondition,
} from '../../resources/status-condition.ts'
import { type ObjectMeta, readMeta } from './object-meta.ts'
import { type Resources, readResources } from './resources.ts'

const ADDRESS_TYPES = ['InternalIP', 'ExternalIP']

/** An entry of `spec.taints` of a Node: it repels the Pods that do not tolerate it. */
export interface Taint {
  readonly key: string
  readonly value: string
  readonly effect: string
}

/** A taint as a Node has it. */
export interface NodeTaint extends Taint {
  /** `timeAdded`, RFC 3339; empty if absent, as in a taint that a user added. */
  readonly addedAt: string
}

/** Keys of the taints that stand for the state of a Node. */
export const NODE_TAINTS = {
  notReady: 'node.kubernetes.io/not-ready',
  unreachable: 'node.kubernetes.io/unreachable',
  unschedulable: 'node.kubernetes.io/unschedulable',
  diskPressure: 'node.kubernetes.io/disk-pressure',
  memoryPressure: 'node.kubernetes.io/memory-pressure',
  pidPressure: 'node.kubernetes.io/pid-pressure',
  networkUnavailable: 'node.kubernetes.io/network-unavailable',
} as const

/** The taint for each condition that is True while the node is short of a resource, or has no network. */
const CONDITION_TAINTS: ReadonlyMap<string, string> = new Map([
  ['DiskPressure', NODE_TAINTS.diskPressure],
  ['MemoryPressure', NODE_TAINTS.memoryPressure],
  ['NetworkUnavailable', NODE_TAINTS.networkUnavailable],
  ['PIDPressure', NODE_TAINTS.pidPressure],
])

/** The fields of a Node that controllers read. */
export interface NodeObject {
  readonly meta: ObjectMeta
  /** The value of the first label of `NAMES.zone` that the Node has; empty without one. */
  readonly zone: string
  /** `status.allocatable`: what Pods may take; 0 for a resource that the node does not report. */
  readonly allocatable: Resources
  /** The number of Pods that may run on it; 0 when unknown. */
  readonly maxPods: number
  /** Whether a label marks it as a node of the control plane. */
  readonly controlPlane: boolean
  readonly taints: readonly NodeTaint[]
  /** Keys of the taints that follow from its conditions, in the order of `CONDITION_TAINTS`. */
  readonly conditionTaints: readonly string[]
  /** `spec.unschedulable`: it is to get no more Pods. */
  readonly unschedulable: boolean
  /** Its internal and external IP addresses, as the node reports them. */
  readonly addresses: readonly string[]
  /** The condition `Ready`. */
  readonly readiness: StatusCondition
  /** `lastHeartbeatTime` of the condition `Ready`, RFC 3339; empty when the node never reported. */
  readonly heartbeatAt: string
}

/** Reads a Node as the API server sent it; see `readMeta` for missing fields. */
export function readNode(object: JsonObject): NodeObject {
  const meta = readMeta(object)
  const label = NAMES.zone.find((name) => Object.hasOwn(meta.labels, name))
  const status = objectAt(object, 'status')
  return {
    meta,
    zone: label === undefined ? '' : (meta.labels[label] ?? ''),
    allocatable: readResources(objectAt(status, 'allocatable')),
    maxPods: wholeQuantity(valueAt(status, 'allocatable', 'pods')) ?? 0,
    controlPlane: NAMES.controlPlane.some((name) => Object.hasOwn(meta.labels, name)),
    taints: arrayAt(object, 'spec', 'taints').map((one) => ({
      key: stringAt(one, 'key'),
      value: stringAt(one, 'value'),
      effect: stringAt(one, 'effect'),
      addedAt: stringAt(one, 'timeAdded'),
    })),
    conditionTaints: [...CONDITION_TAINTS]
      .filter(([type]) => readCondition(status, type).status === 'True')
      .map(([, key]) => key),
    unschedulable: valueAt(object, 'spec', 'unschedulable') === true,
    addresses: arrayAt(status, 'addresses')
      .filter((one) => ADDRESS_TYPES.includes(stringAt(one, 'type')))
      .map((one) => stringAt(one, 'address')),
    readiness: readCondition(status, READY),
    heartbeatAt: stringAt(findCondition(status, READY), 'lastHeartbeatTime'),
  }
}
