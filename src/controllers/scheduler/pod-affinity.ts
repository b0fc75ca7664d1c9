import { labelGroup, namespaceGroup, REPELLING_GROUP } from '../cache/collections.ts'
import type { NodeObject } from '../objects/node-object.ts'
import { ownValue } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { Placement } from '../objects/pod-placement.ts'
import { meets, type PodTerm } from '../objects/requirements.ts'
import type { Reason, SchedulerView } from './node-filters.ts'

/** Counts by place: the value of a label of Nodes. */
export type Places = ReadonlyMap<string, number>

/** Returns the reason for which the affinity of Pods excludes a node; undefined: it does not. */
export type AffinityFilter = (node: NodeObject) => Reason | undefined

/** The affinity and anti-affinity of a Pod to Pods that have a node, and their anti-affinity to it. */
export function affinityFilter(
  pod: PodObject,
  { affinity }: Pick<Placement, 'affinity'>,
  view: SchedulerView,
): AffinityFilter {
  const repelled = repellingPlaces(pod, view)
  const wanted = affinity.map((term) => ({ term, places: placesOf(affinity, term, view) }))
  const avoided = pod.antiAffinity.map((term) => ({ term, places: placesOfTerm(term, view) }))
  const isFirst =
    wanted.every(({ places }) => places.size === 0) &&
    affinity.every((term) => isTermOf(term, pod, view))
  return ({ meta: { labels } }) => {
    for (const { term, places } of wanted) {
      const place = ownValue(labels, term.topologyKey)
      if (place === undefined || !(isFirst || places.has(place))) {
        return "node(s) didn't match pod affinity rules"
      }
    }
    for (const { term, places } of avoided) {
      if (isIn(places, ownValue(labels, term.topologyKey))) {
        return "node(s) didn't match pod anti-affinity rules"
      }
    }
    for (const [key, places] of repelled) {
      if (isIn(places, ownValue(labels, key))) {
        return "node(s) didn't satisfy existing pods anti-affinity rules"
      }
    }
    return undefined
  }
}

/** The places where Pods run that repel this one, by the label of Nodes. */
function repellingPlaces(
  pod: PodObject,
  view: SchedulerView,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const other of view.pods.group(REPELLING_GROUP)) {
    if (other.finished) continue
    for (const term of other.antiAffinity) {
      if (!isTermOf(term, pod, view)) continue
      const place = placeOf(other, term.topologyKey, view)
      if (place === undefined) continue
      found.getOrInsertComputed(term.topologyKey, () => new Set<string>()).add(place)
    }
  }
  return found
}

function isIn(places: { has(place: string): boolean }, place: string | undefined): boolean {
  return place !== undefined && places.has(place)
}

/** How many Pods that match a term run in each place. */
export function placesOfTerm(term: PodTerm, view: SchedulerView): Places {
  return placesOf([term], term, view)
}

/** The places of the Pods that match all terms. */
function placesOf(terms: readonly PodTerm[], { topologyKey }: PodTerm, view: SchedulerView) {
  const places = new Map<string, number>()
  for (const other of candidates(terms[0], view)) {
    if (other.nodeName === '' || other.finished) continue
    if (!terms.every((term) => isTermOf(term, other, view))) continue
    const place = placeOf(other, topologyKey, view)
    if (place !== undefined) places.set(place, (places.get(place) ?? 0) + 1)
  }
  return places
}

/** Whether a Pod is one of those that a term selects. */
function isTermOf(term: PodTerm, { meta }: PodObject, view: SchedulerView): boolean {
  if (!meets(meta.labels, term.selector)) return false
  if (term.namespaces.includes(meta.namespace)) return true
  if (term.namespaceSelector === undefined) return false
  const namespace = view.namespaces.get(meta.namespace)
  return meets(namespace?.meta.labels ?? {}, term.namespaceSelector)
}

/** Pods among which are all that a term selects: with a label that it requires, in its namespaces, or all. */
function candidates(term: PodTerm | undefined, view: SchedulerView): Iterable<PodObject> {
  if (term?.namespaceSelector !== undefined) return view.pods.values()
  return (term?.namespaces ?? []).flatMap((namespace) => [
    ...selectable(namespace, term?.selector, view),
  ])
}

/** Pods of a namespace among which are all that have the required labels. */
export function selectable(
  namespace: string,
  selector: PodTerm['selector'] = [],
  view: Pick<SchedulerView, 'pods'>,
): Iterable<PodObject> {
  const exact = selector.find(({ operator, values }) => operator === 'In' && values.length === 1)
  const group =
    exact === undefined
      ? namespaceGroup(namespace)
      : labelGroup(namespace, [exact.key, exact.values[0] ?? ''])
  return view.pods.group(group)
}

/** Where a Pod runs; undefined: its node is gone or has no such label. */
export function placeOf(
  { nodeName }: PodObject,
  topologyKey: string,
  view: Pick<SchedulerView, 'nodes'>,
): string | undefined {
  const node = view.nodes.get(nodeName)
  return node && ownValue(node.meta.labels, topologyKey)
}
