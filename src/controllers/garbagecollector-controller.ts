import { isDeepEqual } from '../lib/equal.ts'
import type { JsonObject } from '../lib/json.ts'
import { canonicalGroup } from '../resources/api-groups.ts'
import { FOREGROUND, ORPHAN } from '../resources/label-names.ts'
import {
  COLLECTION_NAMES,
  COLLECTION_ROUTES,
  type CollectionName,
  groupOf,
  perCollection,
  typeOf,
} from './cache/collection-route.ts'
import { ownerGroup } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import type { Affects } from './cache/selection.ts'
import { keyOf, type ObjectMeta, type OwnerReference } from './objects/object-meta.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { type EventWrite, eventWrite, type ObjectIdentity, type Patch } from './runner/write.ts'

const NAME = 'garbagecollector'

type ChangeAffects = Affects<{ readonly meta: ObjectMeta }>

/**
 * Deletes an object when each of its owners is gone (in the caches, and then confirmed by the server) or is
 * being deleted in the foreground; in the latter case in the foreground itself, so that its own dependents go first. While
 * another owner is there, the object only loses its references to such owners. An owner with the finalizer
 * `foregroundDeletion` stays until its dependents with `blockOwnerDeletion` are gone, or no longer refer to it because they
 * have another owner; an owner with the finalizer `orphan` stays until its dependents no longer refer to it.
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

/** The keys of the object itself, of its dependents, and of its owners before the change, which may wait for it. */
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
  const owners = object.meta.owners.map((reference) => {
    return { reference, ...ownerState(reference, object, view) }
  })
  const waiting = owners.filter(({ state }) => state === 'awaitsDependents')
  const gone = owners.filter((one) => one.state === 'gone')
  const isUnknown = owners.some(({ state }) => state === 'unknown')
  const absent = isUnknown ? [] : gone.map(({ identity }) => identity)
  const events = misplacedOwnerEvent(object, { absent, view, now })
  if (isUnknown || owners.some(({ state }) => state === 'present')) {
    const left = isUnknown ? waiting : [...waiting, ...gone]
    if (left.length === 0) return SETTLED
    const isLeft = (owner: OwnerReference): boolean => left.some((one) => one.reference === owner)
    return { writes: [{ ...withoutOwners(object, isLeft), absent }, ...events] }
  }
  const { collection, meta } = object
  const isForeground = waiting.length > 0 && mayAwaitDependents(object, view)
  const deletion = { verb: 'delete', collection, meta, absent } as const
  return {
    writes: [isForeground ? { ...deletion, propagation: 'Foreground' } : deletion, ...events],
  }
}

/**
 * Whether the deletion of an object has to wait for its own dependents. If one of them waits for its dependents, too, the
 * object does not wait: two objects that own each other would wait for ever.
 */
function mayAwaitDependents({ meta }: FoundObject, view: View): boolean {
  const dependents = dependentsOf(meta.uid, view)
  return dependents.length > 0 && !dependents.some((one) => awaitsDependents(one.meta))
}

/** The writes for an object that is being deleted: to its dependents, and its own finalizer. */
function finalize(object: FoundObject, view: View): Reconciliation {
  const { meta } = object
  const dependents = dependentsOf(meta.uid, view)
  if (meta.finalizers.includes(ORPHAN)) {
    const released = dependents.map((one) => withoutOwners(one, ({ uid }) => uid === meta.uid))
    return { writes: [...released, withoutFinalizer(object, ORPHAN)] }
  }
  if (!meta.finalizers.includes(FOREGROUND)) return SETTLED
  const isBlocking = (owner: OwnerReference): boolean =>
    owner.uid === meta.uid && owner.blocksOwnerDeletion
  if (dependents.some((dependent) => dependent.meta.owners.some(isBlocking))) return SETTLED
  return { writes: [withoutFinalizer(object, FOREGROUND)] }
}

function withoutOwners(
  { collection, meta }: FoundObject,
  isLeft: (owner: OwnerReference) => boolean,
): Patch {
  const ownerReferences = meta.owners
    .filter((owner) => !isLeft(owner))
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
  { absent, view, now }: AbsenceFacts,
): readonly EventWrite[] {
  const owner = absent.find(({ uid }) => existsAnywhere(uid, view))
  if (owner === undefined) return []
  const subject = { ...typeOf(collection), meta }
  const name = `${typeOf(owner.collection).kind} ${JSON.stringify(owner.name)}`
  const message = `The owner ${name} is in another namespace, so it does not count.`
  const reason = 'OwnerRefInvalidNamespace'
  return [eventWrite(subject, { controller: NAME, type: 'Warning', reason, message }, now)]
}

interface AbsenceFacts {
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

/**
 * The state of an owner. `awaitsDependents`: its foreground deletion waits for its dependents; `present`: it is
 * in the caches, in any other state; `unknown`: no collection has its kind, or its kind is namespaced and the
 * dependent is not; `gone`: the caches have no object of that name, or one with another uid. Before an object
 * or its reference is deleted because an owner is gone, the server has to confirm that (`identity`).
 */
type OwnerState =
  | { readonly state: 'present' | 'awaitsDependents' | 'unknown' }
  | { readonly state: 'gone'; readonly identity: ObjectIdentity }

/** The state of the owner to which a reference of `dependent` points, in the caches. */
function ownerState(reference: OwnerReference, dependent: FoundObject, view: View): OwnerState {
  const collection = collectionOf(reference)
  const identity = collection && identityOf(reference, collection, dependent)
  if (identity === undefined) return { state: 'unknown' }
  const key = keyOf(identity)
  const meta = view[identity.collection].get(key)?.meta
  if (meta?.uid !== reference.uid) return { state: 'gone', identity }
  return { state: awaitsDependents(meta) ? 'awaitsDependents' : 'present' }
}

function awaitsDependents({ terminating, finalizers }: ObjectMeta): boolean {
  return terminating && finalizers.includes(FOREGROUND)
}

/** Collection and key of each owner of an object, without those of unknown kinds. */
function ownersOf(
  dependent: FoundObject,
): readonly { readonly collection: CollectionName; readonly key: string }[] {
  return dependent.meta.owners.flatMap((reference) => {
    const collection = collectionOf(reference)
    const identity = collection && identityOf(reference, collection, dependent)
    return identity === undefined ? [] : [{ collection: identity.collection, key: keyOf(identity) }]
  })
}

function collectionOf({ apiVersion, kind }: OwnerReference): CollectionName | undefined {
  const group = canonicalGroup(groupOf(apiVersion))
  return COLLECTION_NAMES.find((name) => {
    const type = typeOf(name)
    return type.kind === kind && groupOf(type.apiVersion) === group
  })
}

/** The object that a reference names. An owner of a namespaced kind is in the namespace of its dependents. */
function identityOf(
  { name, uid }: OwnerReference,
  collection: CollectionName,
  { meta }: FoundObject,
): ObjectIdentity | undefined {
  if (!COLLECTION_ROUTES[collection].namespaced) return { collection, namespace: '', name, uid }
  return meta.namespace === '' ? undefined : { collection, namespace: meta.namespace, name, uid }
}

/** An object of any collection: its collection, key and metadata. */
interface FoundObject {
  readonly collection: CollectionName
  readonly meta: ObjectMeta
}

/** A key of the garbage collector: collection and key of one object, `pods shop/web-1`. */
function objectKey(collection: CollectionName, key: string): string {
  return `${collection} ${key}`
}

/** The object with this key in the caches; undefined when they have none. */
function findObject(objectKey: string, view: View): FoundObject | undefined {
  const [plural = '', key = ''] = objectKey.split(' ')
  const collection = COLLECTION_NAMES.find((name) => name === plural)
  const meta = collection && view[collection].get(key)?.meta
  return collection && meta && { collection, meta }
}
