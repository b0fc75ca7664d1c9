import { canonicalGroup } from '../../resources/api-groups.ts'
import { FOREGROUND } from '../../resources/finalizers.ts'
import { COLLECTION_ROUTES } from '../cache/collection-route.ts'
import type { CollectionName } from '../cache/collections.ts'
import { COLLECTION_NAMES } from '../cache/per-collection.ts'
import type { View } from '../cache/view.ts'
import { keyOf, type OwnerReference } from '../objects/object-meta.ts'
import type { ObjectIdentity } from '../runner/writing/write.ts'
import type { FoundObject } from './object-key.ts'

/**
 * The state of an owner. `awaitsDependents`: its foreground deletion waits for its dependents; `present`: the
 * caches have it in any other state; `unknown`: no collection has its kind, or its kind is namespaced and the
 * dependent is not; `gone`: the caches have no object of that name, or one with another uid. Before an object is
 * deleted because of an owner that is gone, the server has to confirm that (`identity`).
 */
export type OwnerState =
  | { readonly state: 'present' | 'awaitsDependents' | 'unknown' }
  | { readonly state: 'gone'; readonly identity: ObjectIdentity }

/** The state of the owner to which a reference of `dependent` points, in the caches. */
export function ownerState(
  reference: OwnerReference,
  dependent: FoundObject,
  view: View,
): OwnerState {
  const collection = collectionOf(reference)
  const identity = collection && identityOf(reference, collection, dependent)
  if (identity === undefined) return { state: 'unknown' }
  const key = keyOf(identity)
  const meta = view[identity.collection].get(key)?.meta
  if (meta?.uid !== reference.uid) return { state: 'gone', identity }
  const isForeground = meta.terminating && meta.finalizers.includes(FOREGROUND)
  return { state: isForeground ? 'awaitsDependents' : 'present' }
}

/** Collection and key of each owner of an object, without those of unknown kinds. */
export function ownersOf(
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
  return COLLECTION_NAMES.find(
    (name) => COLLECTION_ROUTES[name].kind === kind && groupOf(apiVersionOf(name)) === group,
  )
}

/** `apps/v1` for deployments, `v1` for pods. */
export function apiVersionOf(collection: CollectionName): string {
  return COLLECTION_ROUTES[collection].root.replace(/^\/apis?\//, '')
}

/** Which object the reference names: an owner of a namespaced kind is in the namespace of its dependents. */
function identityOf(
  { name, uid }: OwnerReference,
  collection: CollectionName,
  { meta }: FoundObject,
): ObjectIdentity | undefined {
  if (!COLLECTION_ROUTES[collection].namespaced) return { collection, namespace: '', name, uid }
  return meta.namespace === '' ? undefined : { collection, namespace: meta.namespace, name, uid }
}

/** `apps` of `apps/v1`; empty of `v1`. */
function groupOf(apiVersion: string): string {
  const [group = '', version] = apiVersion.split('/')
  return version === undefined ? '' : group
}
