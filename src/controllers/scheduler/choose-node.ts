import type { NodeObject } from '../objects/node-object.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { Placement } from '../objects/pod-placement.ts'
import { nodeSelection } from '../workloads/shared/node-match.ts'
import {
  hasPortConflict,
  insufficientResources,
  type Reason,
  refusedByState,
  type SchedulerView,
} from './node-filters.ts'
import { scoresOf } from './node-scores.ts'
import { affinityFilter } from './pod-affinity.ts'
import { spreadFilter } from './pod-spread.ts'

/** The node for a Pod; or why there is none. */
export type Choice = { readonly node: string } | { readonly problem: string }

/** A Pod that has no node. */
export interface UnboundPod {
  readonly pod: PodObject
  readonly placement: Placement
}

/**
 * Chooses the node for a Pod: of those that fit, the one with the best score; of several with equal scores a hash of the
 * Pod and the nodes decides, so that Pods are spread. A pure function of the Pods and Nodes.
 */
export function chooseNode(unbound: UnboundPod, view: SchedulerView): Choice {
  const reasonsOf = nodeFilter(unbound, view)
  const counts = new Map<Reason, number>()
  const fitting: NodeObject[] = []
  let total = 0
  for (const node of view.nodes.values()) {
    total++
    const reasons = reasonsOf(node)
    if (reasons.length === 0) fitting.push(node)
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  const [only] = fitting
  if (only === undefined) return { problem: problemOf(total, counts) }
  if (fitting.length === 1) return { node: only.meta.name }
  return { node: best(fitting, scoresOf(fitting, unbound, view), unbound.pod) }
}

const FITS: readonly Reason[] = []

/** Returns for a node the reasons for which the Pod does not fit; none: it fits. */
export function nodeFilter(
  { pod, placement }: UnboundPod,
  view: SchedulerView,
): (node: NodeObject) => readonly Reason[] {
  const spread = spreadFilter(pod, placement, view)
  const affinity = affinityFilter(pod, placement, view)
  const isSelected = nodeSelection(placement.selection)
  return (node) => {
    const refused = refusedByState(node, pod.tolerations)
    if (refused !== undefined) return [refused]
    if (!isSelected(node)) return ["node(s) didn't match Pod's node affinity/selector"]
    const { name } = node.meta
    if (hasPortConflict(pod.hostPorts, name, view)) {
      return ["node(s) didn't have free ports for the requested pod ports"]
    }
    const insufficient = insufficientResources(pod, node, view.pods.totals(name))
    if (insufficient.length > 0) return insufficient
    const excluded = spread(node) ?? affinity(node)
    return excluded === undefined ? FITS : [excluded]
  }
}

/** The message of Kubernetes: how many nodes have each reason. */
function problemOf(total: number, counts: ReadonlyMap<Reason, number>): string {
  if (total === 0) return 'no nodes available to schedule pods'
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`).toSorted()
  return `0/${total} nodes are available: ${reasons.join(', ')}.`
}

function best(nodes: readonly NodeObject[], scores: readonly number[], { meta }: PodObject) {
  const greatest = scores.reduce((a, b) => Math.max(a, b), 0)
  const seed = mixed(2_166_136_261, meta.uid)
  let [chosen, rank] = ['', -1]
  for (const [i, node] of nodes.entries()) {
    if (scores[i] !== greatest) continue
    const { name } = node.meta
    const own = mixed(seed, name)
    if (own > rank || (own === rank && name < chosen)) [chosen, rank] = [name, own]
  }
  return chosen
}

/** FNV-1a, continued over a text; the last steps spread its differences over all bits. */
function mixed(seed: number, text: string): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
