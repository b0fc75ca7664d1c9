import { DESIRED_REPLICAS, MAX_REPLICAS } from '../../../resources/label-names.ts'
import type { View } from '../../cache/object-cache.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'
import { type OwnedSets, type SizedSet, sizeOf } from './owned-sets.ts'
import { limitsOf } from './rollout-limits.ts'

/** The sizes that some ReplicaSets are to get. */
export type Sizes = ReadonlyMap<WorkloadObject, number>

export const UNCHANGED: Sizes = new Map()

/** Whether the replicas of a Deployment have changed since one of its ReplicaSets was scaled. */
export function isScaled(deployment: WorkloadObject, sets: readonly WorkloadObject[]): boolean {
  return sets.filter(isActive).some((set) => {
    const desired = annotatedCount(set, DESIRED_REPLICAS)
    return desired !== undefined && desired !== deployment.replicas
  })
}

/**
 * The sizes when a Deployment is paused or has been scaled. In the middle of a rollout the change is spread over its
 * ReplicaSets in proportion to their sizes, the largest one gets the rest.
 */
export function proportionalSizes(deployment: WorkloadObject, { current, old }: OwnedSets): Sizes {
  const all = current === undefined ? old : [...old, current]
  const active = all.filter(isActive)
  if (active.length < 2) {
    const only = active[0] ?? current ?? old.at(-1)
    return only === undefined ? UNCHANGED : new Map([[only, deployment.replicas]])
  }
  if (current !== undefined && isSaturated(deployment, current)) {
    return new Map(active.filter((set) => set !== current).map((set) => [set, 0]))
  }
  return limitsOf(deployment).isRecreate ? UNCHANGED : spread(deployment, active)
}

function spread(deployment: WorkloadObject, active: readonly WorkloadObject[]): Sizes {
  const allowed = deployment.replicas > 0 ? limitsOf(deployment).maxTotal : 0
  const toAdd = allowed - sum(active.map(({ replicas }) => replicas))
  // Of equal sets the newer ones grow first, and the older ones shrink first.
  const byAge = toAdd > 0 ? active.toReversed() : active
  const ordered = byAge.toSorted((a, b) => b.replicas - a.replicas)
  const sizes = new Map<WorkloadObject, number>()
  let added = 0
  for (const set of ordered) {
    const part = proportionOf(set, deployment, toAdd - added)
    sizes.set(set, set.replicas + part)
    added += part
  }
  const [largest] = ordered
  if (largest !== undefined && toAdd !== 0) {
    sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + toAdd - added))
  }
  return sizes
}

/** How many replicas of a change this set gets, if `left` of the change are not given to others yet. */
function proportionOf(set: WorkloadObject, deployment: WorkloadObject, left: number): number {
  if (left === 0) return 0
  const part = shareOf(set, deployment) - set.replicas
  return left > 0 ? Math.min(part, left) : Math.max(part, left)
}

/** The size that a set has if its part of all replicas stays the same. Where this part is not known, its size stays. */
function shareOf(set: WorkloadObject, deployment: WorkloadObject): number {
  if (deployment.replicas === 0) return 0
  const before = annotatedCount(set, MAX_REPLICAS) || countAt(deployment.status, 0, 'replicas')
  if (before === 0) return set.replicas
  return roundHalfUp((set.replicas * limitsOf(deployment).maxTotal) / before)
}

function roundHalfUp(value: number): number {
  return Math.floor(value + 0.5)
}

function isSaturated({ replicas }: WorkloadObject, set: WorkloadObject): boolean {
  return (
    annotatedCount(set, DESIRED_REPLICAS) === replicas &&
    set.replicas === replicas &&
    countAt(set.status, 0, 'availableReplicas') === replicas
  )
}

/** The sizes of a rolling update: the new set grows as far as the surge permits, else the old ones shrink. */
export function rollingSizes(
  deployment: WorkloadObject,
  { current, old }: OwnedSets & { readonly current: WorkloadObject },
  view: View,
  now: number,
): Sizes {
  if (current.replicas > deployment.replicas) return new Map([[current, deployment.replicas]])
  const next = sizeOf(current, view, now)
  const before = old.map((set) => sizeOf(set, view, now))
  const free = spareFor(deployment, [...before, next])
  const growth = Math.min(free, deployment.replicas - current.replicas)
  if (growth > 0) return new Map([[current, current.replicas + growth]])
  return shrink(before, next, limitsOf(deployment).minAvailable)
}

/** How many Pods more there may be. */
export function spareFor(deployment: WorkloadObject, sets: readonly SizedSet[]): number {
  return Math.max(0, limitsOf(deployment).maxTotal - sum(sets.map(({ held }) => held)))
}

/** Old sets lose first the Pods that are not available, then as many available ones as may be missing. */
function shrink(old: readonly SizedSet[], current: SizedSet, minAvailable: number): Sizes {
  const missing = current.set.replicas - current.available
  const all = sum([current, ...old].map(({ set }) => set.replicas))
  let left = all - minAvailable - missing
  if (left <= 0) return UNCHANGED
  const sizes = new Map<WorkloadObject, number>()
  for (const { set, available } of old) {
    const unhealthy = Math.min(left, set.replicas - available)
    sizes.set(set, set.replicas - unhealthy)
    left -= unhealthy
  }
  let spare = Math.max(0, sum([current, ...old].map((one) => one.available)) - minAvailable)
  for (const [set, size] of sizes) {
    const fewer = Math.min(size, spare)
    sizes.set(set, size - fewer)
    spare -= fewer
  }
  return new Map([...sizes].filter(([set, size]) => set.replicas !== size))
}

/** A count in an annotation; undefined: there is none, or no count. */
function annotatedCount({ meta }: WorkloadObject, name: string): number | undefined {
  const text = meta.annotations[name] ?? ''
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

export function isActive({ replicas }: WorkloadObject): boolean {
  return replicas > 0
}

function sum(counts: readonly number[]): number {
  return counts.reduce((a, b) => a + b, 0)
}
