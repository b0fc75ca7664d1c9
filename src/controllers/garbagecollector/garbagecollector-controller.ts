import { isDeepEqual } from '../../lib/equal.ts'
import type { JsonObject } from '../../lib/json.ts'
import { FOREGROUND, ORPHAN } from '../../resources/finalizers.ts'
import type { Affects } from '../cache/affects.ts'
import { COLLECTION_ROUTES } from '../cache/collection-route.ts'
import type { CollectionName } from '../cache/collections.ts'
import { ownerGroup } from '../cache/collections.ts'
import type { ObjectChange } from '../cache/object-cache.ts'
import { COLLECTION_NAMES, perCollection } from '../cache/per-collection.ts'
import type { View } from '../cache/view.ts'
import type { ObjectMeta, OwnerReference } from '../objects/object-meta.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import { eventWrite } from '../runner/writing/event-write.ts'
import type { EventWrite, ObjectIdentity, Patch } from '../runner/writing/write.ts'
import type { FoundObject } from './object-key.ts'
import { findObject, objectKey } from './object-key.ts'
import { apiVersionOf, ownerState, ownersOf } from './owner.ts'

const NAME = 'garbagecollector'

type ChangeAffects = Affects<{ readonly meta: ObjectMeta }>

/**
 * Deletes an object when each of its owners is gone (in the caches, and then confirmed by the server) or is being
 * deleted in the foreground. An owner with the finalizer `foregroundDeletion` stays until its dependents with
 * `blockOwnerDeletion` are gone; one with `orphan` stays until its dependents no longer refer to it.
 */
export const garbageCollector: Controller = {
  name: NAME,
  account: 'generic-garbage-collector',
  watches: perCollection(
    (name): ChangeAffects =>
      (change, view) =>
        affectedKeys(name, change, view),
  ),
  reconcile,
}

/** The object itself; its dependents; and its owners before the change, which may wait for it. */
function affectedKeys(
  collection: CollectionName,
  { key, before, after }: ObjectChange<{ readonly meta: ObjectMeta }>,
  view: View,
): readonly string[] {
  if (isDeepEqual(relevantFields(before?.meta), relevantFields(after?.meta))) return []
  const dependents = before === undefined ? [] : dependentsOf(before.meta.uid, view)
  const formerOwners = before === undefined ? [] : ownersOf({ collection, meta: before.meta })
  return [
    objectKey(collection, key),
    ...dependents.map(({ collection: kind, meta }) => objectKey(kind, meta.key)),
    ...formerOwners.map((owner) => objectKey(owner.collection, owner.key)),
  ]
}

function relevantFields(meta: ObjectMeta | undefined): unknown {
  return meta && [meta.uid, meta.owners, meta.terminating, meta.finalizers]
}

function dependentsOf(uid: string, view: View): readonly FoundObject[] {
  return COLLECTION_NAMES.flatMap((collection) =>
    [...view[collection].group(ownerGroup(uid))].map(({ meta }) => ({ collection, meta })),
  )
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const object = findObject(key, view)
  if (object === undefined) return SETTLED
  if (object.meta.terminating) return finalize(object, view)
  if (object.meta.owners.length === 0) return SETTLED
  const states = object.meta.owners.map((reference) => ownerState(reference, object, view))
  if (states.some(({ state }) => state === 'present' || state === 'unknown')) return SETTLED
  const absent = states.flatMap((one) => (one.state === 'gone' ? [one.identity] : []))
  const { collection, meta } = object
  const deletion = { verb: 'delete', collection, meta, absent } as const
  return { writes: [deletion, ...misplacedOwnerEvent(object, { absent, view, now })] }
}

/** The writes for an object that is being deleted: to its dependents, and its own finalizer. */
function finalize(object: FoundObject, view: View): Reconciliation {
  const { meta } = object
  const dependents = dependentsOf(meta.uid, view)
  if (meta.finalizers.includes(ORPHAN)) {
    const released = dependents.map((dependent) => withoutOwner(dependent, meta.uid))
    return { writes: [...released, withoutFinalizer(object, ORPHAN)] }
  }
  if (!meta.finalizers.includes(FOREGROUND)) return SETTLED
  const isBlocking = (owner: OwnerReference): boolean =>
    owner.uid === meta.uid && owner.blocksOwnerDeletion
  if (dependents.some((dependent) => dependent.meta.owners.some(isBlocking))) return SETTLED
  return { writes: [withoutFinalizer(object, FOREGROUND)] }
}

function withoutOwner({ collection, meta }: FoundObject, uid: string): Patch {
  const ownerReferences = meta.owners
    .filter((owner) => owner.uid !== uid)
    .map(({ reference }) => reference)
  return patchOf({ collection, meta }, { ownerReferences })
}

function withoutFinalizer(object: FoundObject, finalizer: string): Patch {
  return patchOf(object, {
    finalizers: object.meta.finalizers.filter((one) => one !== finalizer),
  })
}

function patchOf({ collection, meta }: FoundObject, metadata: JsonObject): Patch {
  return { verb: 'patch', collection, meta, body: { metadata } }
}

/** An Event if an owner that counts as gone exists in another namespace. */
function misplacedOwnerEvent(
  { collection, meta }: FoundObject,
  { absent, view, now }: DeletionFacts,
): readonly EventWrite[] {
  const owner = absent.find(({ uid }) => existsAnywhere(uid, view))
  if (owner === undefined) return []
  const { kind } = COLLECTION_ROUTES[collection]
  const subject = { apiVersion: apiVersionOf(collection), kind, meta }
  const name = `${COLLECTION_ROUTES[owner.collection].kind} ${JSON.stringify(owner.name)}`
  const message = `The owner ${name} is in another namespace, so it does not count.`
  const reason = 'OwnerRefInvalidNamespace'
  return [eventWrite(subject, { controller: NAME, type: 'Warning', reason, message }, now)]
}

interface DeletionFacts {
  /** The owners that the server has to confirm as gone. */
  readonly absent: readonly ObjectIdentity[]
  readonly view: View
  readonly now: number
}

function existsAnywhere(uid: string, view: View): boolean {
  return COLLECTION_NAMES.some((name) =>
    [...view[name].values()].some(({ meta }) => meta.uid === uid),
  )
}
