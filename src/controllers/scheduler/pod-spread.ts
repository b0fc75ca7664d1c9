import { ownerGroup } from '../cache/collections.ts'
import { podsOf, servicesOf } from '../cache/selection.ts'
import type { NodeObject } from '../objects/node-object.ts'
import { controllerOf, ownValue } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { Placement, SpreadConstraint } from '../objects/pod-placement.ts'
import { meets } from '../objects/requirements.ts'
import { nodeSelection } from '../workloads/shared/node-match.ts'
import { type Reason, refusedByState, type SchedulerView } from './node-filters.ts'
import { placeOf, selectable } from './pod-affinity.ts'

const NO_SPREAD = "node(s) didn't match pod topology spread constraints"

/** Returns the reason for which the spread of Pods excludes a node; undefined: it does not. */
export type SpreadFilter = (node: NodeObject) => Reason | undefined

/** The required spread of the Pods that constraints select, if the Pod is added. */
export function spreadFilter(
  pod: PodObject,
  placement: Placement,
  view: SchedulerView,
): SpreadFilter {
  const constraints = placement.spread.filter(({ isRequired }) => isRequired)
  if (constraints.length === 0) return () => undefined
  const limits = constraints.map((constraint) => {
    const counts = countPods(pod, constraint, { constraints, placement, view })
    const least = counts.size < constraint.minDomains ? 0 : leastOf(counts)
    const own = meets(pod.meta.labels, constraint.selector) ? 1 : 0
    return { constraint, counts, most: constraint.maxSkew + least - own }
  })
  return ({ meta: { labels } }) => {
    for (const { constraint, counts, most } of limits) {
      const place = ownValue(labels, constraint.topologyKey)
      if (place === undefined) return `${NO_SPREAD} (missing required label)`
      if ((counts.get(place) ?? 0) > most) return NO_SPREAD
    }
    return undefined
  }
}

function leastOf(counts: ReadonlyMap<string, number>): number {
  let least = Number.POSITIVE_INFINITY
  for (const count of counts.values()) least = Math.min(least, count)
  return least
}

interface SpreadInputs {
  /** All constraints of the same kind: a node counts only if it has the labels of all. */
  readonly constraints: readonly SpreadConstraint[]
  readonly placement: Placement
  readonly view: SchedulerView
}

/** The Pods that a constraint selects in each place that has a node that counts. */
function countPods(
  pod: PodObject,
  constraint: SpreadConstraint,
  { constraints, placement, view }: SpreadInputs,
): Map<string, number> {
  const counts = new Map<string, number>()
  const counted = new Set<string>()
  const isSelected = nodeSelection(placement.selection)
  for (const node of view.nodes.values()) {
    const { labels, name } = node.meta
    if (!constraints.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey))) continue
    if (constraint.honorsSelection && !isSelected(node)) continue
    if (constraint.honorsTaints && refusedByState(node, pod.tolerations) !== undefined) continue
    counted.add(name)
    counts.set(labels[constraint.topologyKey] ?? '', 0)
  }
  for (const other of selectable(pod.meta.namespace, constraint.selector, view)) {
    if (!counted.has(other.nodeName) || !isSpread(other)) continue
    if (!meets(other.meta.labels, constraint.selector)) continue
    const place = placeOf(other, constraint.topologyKey, view)
    if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  return counts
}

function isSpread({ finished, meta }: PodObject): boolean {
  return !finished && !meta.terminating
}

/** A preference for places where few Pods run. */
export interface SpreadPreference {
  /** The place of a node; undefined: it has none. */
  readonly placeOf: (node: NodeObject) => string | undefined
  readonly counts: ReadonlyMap<string, number>
  readonly maxSkew: number
  /** Whether each node is a place of its own. */
  readonly isOfNodes: boolean
  /** Whether a node without a place is worst; else the preference does not concern it. */
  readonly needsPlace: boolean
}

/**
 * The preferences of a Pod: its constraints that are not required, or, where it has no constraints at all, that the Pods of
 * its owner, or those of its Services, are spread over nodes and zones, as in Kubernetes.
 */
export function spreadPreferences(
  pod: PodObject,
  placement: Placement,
  view: SchedulerView,
): readonly SpreadPreference[] {
  if (placement.spread.length === 0) return usualPreferences(pod, view)
  const constraints = placement.spread.filter(({ isRequired }) => !isRequired)
  return constraints.map((constraint) => ({
    placeOf: ({ meta }) => ownValue(meta.labels, constraint.topologyKey),
    counts: countPods(pod, constraint, { constraints, placement, view }),
    maxSkew: constraint.maxSkew,
    isOfNodes: false,
    needsPlace: true,
  }))
}

const NODE_SKEW = 3
const ZONE_SKEW = 5

function usualPreferences(pod: PodObject, view: SchedulerView): readonly SpreadPreference[] {
  const nodes = new Map<string, number>()
  const zones = new Map<string, number>()
  for (const other of peersOf(pod, view)) {
    if (other.nodeName === '' || !isSpread(other)) continue
    add(nodes, other.nodeName)
    const zone = view.nodes.get(other.nodeName)?.zone ?? ''
    if (zone !== '') add(zones, zone)
  }
  if (nodes.size === 0) return []
  const needsPlace = false
  return [
    {
      placeOf: ({ meta }) => meta.name,
      counts: nodes,
      maxSkew: NODE_SKEW,
      isOfNodes: true,
      needsPlace,
    },
    {
      placeOf: ({ zone }) => zone || undefined,
      counts: zones,
      maxSkew: ZONE_SKEW,
      isOfNodes: false,
      needsPlace,
    },
  ]
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The Pods of the same owner; of a Pod without one, those of its Services. */
function peersOf(pod: PodObject, view: SchedulerView): Iterable<PodObject> {
  const owner = controllerOf(pod.meta)
  if (owner !== undefined) return view.pods.group(ownerGroup(owner.uid))
  const services = servicesOf(pod, view).flatMap((key) => view.services.get(key) ?? [])
  return new Set(services.flatMap((service) => [...podsOf(service, view)]))
}
