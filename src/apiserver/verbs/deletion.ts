import {
  arrayAt,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  without,
} from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import { FOREGROUND, ORPHAN } from '../../resources/finalizers.ts'
import { events } from '../kinds/event.ts'
import { closedNamespace, namespaceFinalizers, namespaces } from '../kinds/namespace.ts'
import { pods } from '../kinds/pod.ts'
import type { Resource } from '../resource/resource.ts'
import type { DeleteOptions, Propagation } from './delete-options.ts'

/** What a request to delete an object wishes for. */
export type DeletionWish = Pick<DeleteOptions, 'graceSeconds' | 'propagation'>

/** What a pod gets that does not say how long it takes to end. */
const DEFAULT_GRACE_SECONDS = 30
const MOST_GRACE_SECONDS = 100 * 365 * 86_400

/**
 * An object as a request to delete it leaves it; removed when that `isOver`. A
 * pod at work is only marked: its node ends it, and then deletes it without
 * grace. Until then it can only be told to hurry. Finalizers keep any object,
 * among them those that the propagation policy asks for.
 */
export function markedForDeletion(
  resource: Resource,
  old: JsonObject,
  wish: DeletionWish,
  now: number,
): JsonObject {
  const metadata = objectAt(old, 'metadata')
  const left = isMarked(metadata) ? graceLeft(metadata) : undefined
  const grace = resource === pods ? graceOf(old, wish, left) : 0
  if (left === grace && grace > 0) return old
  const finalizers = finalizersOf(resource, metadata, wish.propagation)
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
  return resource === namespaces ? closedNamespace(next) : next
}

/** Marked as deleted, without any grace left, and nobody has anything left to do. */
export function isOver(resource: Resource, object: JsonObject): boolean {
  const metadata = objectAt(object, 'metadata')
  const finalizers = resource === namespaces ? namespaceFinalizers(object) : []
  const isKept = finalizers.length > 0 || arrayAt(metadata, 'finalizers').length > 0
  return isMarked(metadata) && graceLeft(metadata) === 0 && !isKept
}

function isMarked(metadata: JsonObject): boolean {
  return stringAt(metadata, 'deletionTimestamp') !== ''
}

function graceLeft(metadata: JsonObject): number {
  return Number(metadata['deletionGracePeriodSeconds'] ?? 0)
}

/** Seconds for a pod to end; one that runs nowhere, or has ended, needs none. */
function graceOf(pod: JsonObject, wish: DeletionWish, left: number | undefined): number {
  if (left !== undefined) return Math.min(left, withinReason(wish.graceSeconds ?? left))
  const phase = stringAt(pod, 'status', 'phase')
  const isIdle = stringAt(pod, 'spec', 'nodeName') === ''
  if (isIdle || phase === 'Succeeded' || phase === 'Failed') return 0
  const own = objectAt(pod, 'spec')['terminationGracePeriodSeconds']
  return withinReason(wish.graceSeconds ?? (typeof own === 'number' ? own : DEFAULT_GRACE_SECONDS))
}

/** Less than none is one second, as in the ecosystem; a century from now still has a date. */
function withinReason(seconds: number): number {
  return seconds < 0 ? 1 : Math.min(seconds, MOST_GRACE_SECONDS)
}

/** When the deletion was asked for first; its timestamp is when the grace ends. */
function beganAt(metadata: JsonObject, now: number): number {
  const endsAt = Date.parse(scalarText(metadata['deletionTimestamp']))
  return Number.isNaN(endsAt) ? now : endsAt - graceLeft(metadata) * 1000
}

const ASKED_FOR: Readonly<Record<Propagation, readonly string[]>> = {
  Foreground: [FOREGROUND],
  Orphan: [ORPHAN],
  Background: [],
}

/** Its finalizers, with what the policy says of its dependents. Events own nothing. */
function finalizersOf(
  resource: Resource,
  metadata: JsonObject,
  propagation: Propagation | undefined,
): readonly string[] {
  const finalizers = arrayAt(metadata, 'finalizers').map(scalarText)
  if (propagation === undefined || resource === events) return finalizers
  const others = finalizers.filter((one) => one !== FOREGROUND && one !== ORPHAN)
  return [...others, ...ASKED_FOR[propagation]]
}

function nextGeneration(metadata: JsonObject): JsonObject {
  return { generation: Number(metadata['generation'] ?? 0) + 1 }
}
