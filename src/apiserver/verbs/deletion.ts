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

/** The part of a request to delete an object that changes the object. */
export type DeletionChange = Pick<DeleteOptions, 'graceSeconds' | 'propagation'>

/** Seconds for a Pod whose spec names none. */
const DEFAULT_GRACE_SECONDS = 30
const MAX_GRACE_SECONDS = 100 * 365 * 86_400

/**
 * An object after a request to delete it; it is removed when that `isOver`. A Pod that
 * runs on a node is only marked: the node's agent ends it, and then deletes it without
 * grace. Until then a request can only shorten its grace. Finalizers keep any object,
 * among them those of the propagation policy.
 */
export function markedForDeletion(
  resource: Resource,
  old: JsonObject,
  change: DeletionChange,
  now: number,
): JsonObject {
  const metadata = objectAt(old, 'metadata')
  const left = isMarked(metadata) ? graceLeft(metadata) : undefined
  const grace = resource === pods ? graceOf(old, change, left) : 0
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
  return resource === namespaces ? closedNamespace(next) : next
}

/** Whether the object is marked, without grace and without finalizers: it can be removed. */
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

/** Seconds for a Pod to end; one that runs on no node, or has ended, needs none. */
function graceOf(pod: JsonObject, change: DeletionChange, left: number | undefined): number {
  if (left !== undefined) return Math.min(left, withinReason(change.graceSeconds ?? left))
  const phase = stringAt(pod, 'status', 'phase')
  const isIdle = stringAt(pod, 'spec', 'nodeName') === ''
  if (isIdle || phase === 'Succeeded' || phase === 'Failed') return 0
  const own = objectAt(pod, 'spec')['terminationGracePeriodSeconds']
  return withinReason(
    change.graceSeconds ?? (typeof own === 'number' ? own : DEFAULT_GRACE_SECONDS),
  )
}

/** Less than none is one second, as in Kubernetes; a century from now still has a date. */
function withinReason(seconds: number): number {
  return seconds < 0 ? 1 : Math.min(seconds, MAX_GRACE_SECONDS)
}

/** When the first deletion was requested; its timestamp is when the grace ends. */
function beganAt(metadata: JsonObject, now: number): number {
  const endsAt = Date.parse(scalarText(metadata['deletionTimestamp']))
  return Number.isNaN(endsAt) ? now : endsAt - graceLeft(metadata) * 1000
}

const FINALIZERS_OF: Readonly<Record<Propagation, readonly string[]>> = {
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
  const rest = finalizers.filter((one) => one !== FOREGROUND && one !== ORPHAN)
  return [...rest, ...FINALIZERS_OF[propagation]]
}

function nextGeneration(metadata: JsonObject): JsonObject {
  return { generation: Number(metadata['generation'] ?? 0) + 1 }
}
