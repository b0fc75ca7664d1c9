import { timestamp } from '../../lib/duration.ts'
import {
  arrayAt,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  without,
} from '../../lib/json.ts'
import { FOREGROUND, ORPHAN } from '../../resources/label-names.ts'
import type { Resource } from '../resource/resource.ts'
import type { DeleteOptions, Propagation } from './delete-options.ts'

/** The part of a request to delete an object that changes the object. */
export type DeletionChange = Pick<DeleteOptions, 'graceSeconds' | 'propagation'>

const MAX_GRACE_SECONDS = 100 * 365 * 86_400

/**
 * An object as a request to delete it leaves it; if `isOver` is true for that, the object is removed. An object
 * whose kind has a grace period is only marked, and a later request can only shorten the period. Finalizers
 * keep any object, including those that the propagation policy adds.
 */
export function markedForDeletion(
  resource: Resource,
  old: JsonObject,
  change: DeletionChange,
  now: number,
): JsonObject {
  const metadata = objectAt(old, 'metadata')
  const left = isMarked(metadata) ? graceLeft(metadata) : undefined
  const grace = graceOf(resource, old, { requested: change.graceSeconds, left })
  if (left === grace && grace > 0) return old
  const finalizers = finalizersOf(resource, metadata, change.propagation)
  const next = {
    ...old,
    metadata: {
      ...without(metadata, 'finalizers'),
      ...(resource.countsGenerations && left === undefined ? nextGeneration(metadata) : {}),
      deletionTimestamp: timestamp(beganAt(metadata, now) + grace * 1000),
      deletionGracePeriodSeconds: grace,
      ...(finalizers.length === 0 ? {} : { finalizers: [...finalizers] }),
    },
  }
  return resource.deletion?.marked?.(next) ?? next
}

/** Whether the object can be removed: it is marked for deletion, and has no grace period and no finalizers. */
export function isOver(resource: Resource, object: JsonObject): boolean {
  const metadata = objectAt(object, 'metadata')
  const finalizers = resource.deletion?.finalizers?.(object) ?? []
  const isKept = finalizers.length > 0 || arrayAt(metadata, 'finalizers').length > 0
  return isMarked(metadata) && graceLeft(metadata) === 0 && !isKept
}

function isMarked(metadata: JsonObject): boolean {
  return stringAt(metadata, 'deletionTimestamp') !== ''
}

function graceLeft(metadata: JsonObject): number {
  return Number(metadata['deletionGracePeriodSeconds'] ?? 0)
}

/** Seconds of the grace period, by the rules of the kind. That of an object that is marked already is never lengthened. */
function graceOf(
  { deletion }: Resource,
  object: JsonObject,
  {
    requested,
    left,
  }: { readonly requested: number | undefined; readonly left: number | undefined },
): number {
  if (deletion?.graceSeconds === undefined) return 0
  if (left !== undefined) return Math.min(left, withinReason(requested ?? left))
  return withinReason(deletion.graceSeconds(object, requested))
}

/** The grace period within limits: a negative one is one second, as in Kubernetes, and none exceeds a century. */
function withinReason(seconds: number): number {
  return seconds < 0 ? 1 : Math.min(seconds, MAX_GRACE_SECONDS)
}

/** When the first deletion was requested; `deletionTimestamp` is when the grace period ends. */
function beganAt(metadata: JsonObject, now: number): number {
  const endsAt = Date.parse(scalarText(metadata['deletionTimestamp']))
  return Number.isNaN(endsAt) ? now : endsAt - graceLeft(metadata) * 1000
}

const FINALIZERS_OF: Readonly<Record<Propagation, readonly string[]>> = {
  Foreground: [FOREGROUND],
  Orphan: [ORPHAN],
  Background: [],
}

/**
 * The finalizers of an object, with that of the propagation policy. The latter is left out for kinds that own
 * no objects.
 */
function finalizersOf(
  resource: Resource,
  metadata: JsonObject,
  propagation: Propagation | undefined,
): readonly string[] {
  const finalizers = arrayAt(metadata, 'finalizers').map(scalarText)
  if (propagation === undefined || resource.ownsNothing === true) return finalizers
  const rest = finalizers.filter((one) => one !== FOREGROUND && one !== ORPHAN)
  return [...rest, ...FINALIZERS_OF[propagation]]
}

function nextGeneration(metadata: JsonObject): JsonObject {
  return { generation: Number(metadata['generation'] ?? 0) + 1 }
}
