import { assumedOf, TAKEN } from '../cache/collections.ts'
import type { NodeObject } from '../objects/node-object.ts'
import { ownValue } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { Placement } from '../objects/pod-placement.ts'
import { isTolerated, matchesTerm } from '../workloads/shared/node-match.ts'
import type { SchedulerView } from './node-filters.ts'
import { placesOfTerm } from './pod-affinity.ts'
import { type SpreadPreference, spreadPreferences } from './pod-spread.ts'

/** The best score of one criterion; the worst is 0. */
const BEST = 100

/** How much each criterion counts, as in Kubernetes. */
const WEIGHTS = { taints: 3, nodes: 2, pods: 2, spread: 2, resources: 1 } as const

/**
 * How well each of the nodes suits the Pod; the greatest is best. The scores are the sums of what the criteria of
 * Kubernetes yield: taints PreferNoSchedule, preferred nodes, preferred Pods, spread, and free resources.
 */
export function scoresOf(
  nodes: readonly NodeObject[],
  { pod, placement }: { readonly pod: PodObject; readonly placement: Placement },
  view: SchedulerView,
): readonly number[] {
  const scores = nodes.map((node) => WEIGHTS.resources * freeScore(pod, node, view))
  const add = (weight: number, more: readonly number[]): void => {
    for (const [i, one] of more.entries()) scores[i] = (scores[i] ?? 0) + weight * one
  }
  add(WEIGHTS.taints, taintScores(nodes, pod))
  add(WEIGHTS.nodes, nodeScores(nodes, placement))
  add(WEIGHTS.pods, podScores(nodes, placement, view))
  add(WEIGHTS.spread, spreadScores(nodes, spreadPreferences(pod, placement, view)))
  return scores
}

/** The share of processor and memory that is free once the Pod runs there. */
function freeScore(
  { requests }: PodObject,
  { meta, allocatable }: NodeObject,
  view: SchedulerView,
): number {
  const taken = view.pods.totals(meta.name)
  const { cpuMillis, memory } = assumedOf(requests)
  const cpu = free(allocatable.cpuMillis, (taken.get(TAKEN.assumedCpu) ?? 0) + cpuMillis)
  return (cpu + free(allocatable.memory, (taken.get(TAKEN.assumedMemory) ?? 0) + memory)) / 2
}

function free(has: number, taken: number): number {
  return has === 0 ? 0 : Math.max(0, (BEST * (has - taken)) / has)
}

function taintScores(nodes: readonly NodeObject[], { tolerations }: PodObject): readonly number[] {
  if (nodes.every(({ taints }) => taints.length === 0)) return []
  const counts = nodes.map(
    ({ taints }) =>
      taints.filter((one) => one.effect === 'PreferNoSchedule' && !isTolerated(one, tolerations))
        .length,
  )
  const worst = greatest(counts)
  return worst === 0 ? [] : counts.map((count) => BEST - (BEST * count) / worst)
}

function nodeScores(
  nodes: readonly NodeObject[],
  { preferredNodes }: Placement,
): readonly number[] {
  if (preferredNodes.length === 0) return []
  const sums = nodes.map((node) =>
    preferredNodes.reduce(
      (sum, { weight, term }) => (matchesTerm(term, node) ? sum + weight : sum),
      0,
    ),
  )
  const best = greatest(sums)
  return best === 0 ? [] : sums.map((sum) => (BEST * sum) / best)
}

function podScores(
  nodes: readonly NodeObject[],
  { preferredPods }: Placement,
  view: SchedulerView,
): readonly number[] {
  if (preferredPods.length === 0) return []
  const wanted = preferredPods.map(({ weight, term }) => ({
    weight,
    key: term.topologyKey,
    places: placesOfTerm(term, view),
  }))
  const sums = nodes.map(({ meta }) =>
    wanted.reduce((sum, { weight, key, places }) => {
      const place = ownValue(meta.labels, key)
      return place === undefined ? sum : sum + weight * (places.get(place) ?? 0)
    }, 0),
  )
  const [least, most] = [-greatest(sums.map((sum) => -sum)), greatest(sums)]
  return most === least ? [] : sums.map((sum) => (BEST * (sum - least)) / (most - least))
}

/**
 * Kubernetes' score of the spread over places, which are the nodes or, say, the zones. A preference counts more, the
 * more places it has.
 */
function spreadScores(
  nodes: readonly NodeObject[],
  preferences: readonly SpreadPreference[],
): readonly number[] {
  if (preferences.length === 0) return []
  const weighted = preferences.map((one) => ({ ...one, weight: weightOf(one, nodes) }))
  const costs = nodes.map((node) => costOf(node, weighted))
  const known = costs.filter((cost) => cost !== undefined)
  const [least, most] = [-greatest(known.map((cost) => -cost)), greatest(known)]
  return costs.map((cost) => {
    if (cost === undefined) return 0
    return most <= 0 ? BEST : (BEST * (most + least - cost)) / most
  })
}

function weightOf({ placeOf, isOfNodes }: SpreadPreference, nodes: readonly NodeObject[]): number {
  if (isOfNodes) return Math.log(nodes.length + 2)
  const places = new Set<string>()
  for (const node of nodes) {
    const place = placeOf(node)
    if (place !== undefined) places.add(place)
  }
  return Math.log(places.size + 2)
}

/** How uneven a Pod on the node would make the spread; undefined if the node is in no place of a required kind. */
function costOf(
  node: NodeObject,
  preferences: readonly (SpreadPreference & { readonly weight: number })[],
): number | undefined {
  let cost = 0
  for (const { placeOf, counts, maxSkew, needsPlace, weight } of preferences) {
    const place = placeOf(node)
    if (place !== undefined) cost += (counts.get(place) ?? 0) * weight + (maxSkew - 1)
    else if (needsPlace) return undefined
  }
  return cost
}

/** Not by `Math.max(...)`, which takes no more arguments than fit on the stack. */
function greatest(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
}
