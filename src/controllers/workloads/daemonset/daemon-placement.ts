import { arrayAt, type Json, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { NODE_TAINTS, type NodeObject } from '../../objects/node-object.ts'
import type { WorkloadObject } from '../../objects/workload-object.ts'
import { affinityToNode, nodeSelection, untoleratedTaint } from '../shared/node-match.ts'

/** Taints that every Pod of a DaemonSet tolerates: key and effect. */
const TOLERATED: readonly (readonly [key: string, effect: string])[] = [
  [NODE_TAINTS.notReady, 'NoExecute'],
  [NODE_TAINTS.unreachable, 'NoExecute'],
  [NODE_TAINTS.diskPressure, 'NoSchedule'],
  [NODE_TAINTS.memoryPressure, 'NoSchedule'],
  [NODE_TAINTS.pidPressure, 'NoSchedule'],
  [NODE_TAINTS.unschedulable, 'NoSchedule'],
]
const NETWORK_UNAVAILABLE = [NODE_TAINTS.networkUnavailable, 'NoSchedule'] as const

/**
 * What a DaemonSet does with a node. `run`: the node must have a Pod. `stay`: a Pod that runs there stays, and no new one
 * is made. `none`: a Pod that runs there is deleted.
 */
export type Placement = 'run' | 'stay' | 'none'

/** Where the Pods of a DaemonSet belong. */
export function placementOf({ template }: WorkloadObject): (node: NodeObject) => Placement {
  const spec = objectAt(template, 'spec')
  const nodeName = stringAt(spec, 'nodeName')
  const isSelected = nodeSelection(spec)
  const tolerations = tolerationsOf(spec)
  return (node) => {
    if ((nodeName !== '' && nodeName !== node.meta.name) || !isSelected(node)) return 'none'
    if (untoleratedTaint(node, tolerations, ['NoExecute']) !== undefined) return 'none'
    return untoleratedTaint(node, tolerations, ['NoSchedule']) === undefined ? 'run' : 'stay'
  }
}

/** What the spec of the Pod for a node has beside that of the template: the scheduler binds it to that node. */
export function specForNode({ template }: WorkloadObject, nodeName: string): JsonObject {
  const spec = objectAt(template, 'spec')
  return { affinity: affinityToNode(spec, nodeName), tolerations: [...tolerationsOf(spec)] }
}

/** The tolerations of the template and those that every Pod of a DaemonSet has. */
function tolerationsOf(spec: JsonObject): readonly Json[] {
  const added = spec['hostNetwork'] === true ? [...TOLERATED, NETWORK_UNAVAILABLE] : TOLERATED
  const isAdded = (one: Json): boolean =>
    stringAt(one, 'operator') === 'Exists' &&
    stringAt(one, 'value') === '' &&
    added.some(
      ([key, effect]) => key === stringAt(one, 'key') && effect === stringAt(one, 'effect'),
    )
  return [
    ...arrayAt(spec, 'tolerations').filter((one) => !isAdded(one)),
    ...added.map(([key, effect]) => ({ key, operator: 'Exists', effect })),
  ]
}
