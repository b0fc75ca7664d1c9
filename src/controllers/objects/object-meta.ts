import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { readStrings, type StringMap } from './string-map.ts'

/** `metadata` of an object. A text that is absent in the object is empty here. */
export interface ObjectMeta {
  /** `namespace/name`, or `name` without a namespace. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** `metadata.resourceVersion`. */
  readonly version: string
  /** `metadata.creationTimestamp`, RFC 3339. */
  readonly createdAt: string
  readonly labels: StringMap
  readonly annotations: StringMap
  readonly owners: readonly OwnerReference[]
  readonly finalizers: readonly string[]
  /** The object is being deleted: it has a `deletionTimestamp`. */
  readonly terminating: boolean
}

/**
 * One of `metadata.ownerReferences`. The object is deleted when no owner is left. An owner is in the namespace of
 * the object, or cluster-scoped.
 */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** `blockOwnerDeletion`: a foreground deletion of the owner waits until the object is deleted. */
  readonly blocksOwnerDeletion: boolean
  /** The reference as it is stored, to write it again. */
  readonly reference: JsonObject
}

/** `namespace/name`, or `name` without a namespace. */
export function keyOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

/** Reads `metadata` of any object. Never fails: a field that is absent or of another type reads as empty. */
export function readMeta(object: JsonObject): ObjectMeta {
  const metadata = objectAt(object, 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const name = stringAt(metadata, 'name')
  return {
    key: keyOf({ namespace, name }),
    namespace,
    name,
    uid: stringAt(metadata, 'uid'),
    version: stringAt(metadata, 'resourceVersion'),
    createdAt: stringAt(metadata, 'creationTimestamp'),
    labels: readStrings(objectAt(metadata, 'labels')),
    annotations: readStrings(objectAt(metadata, 'annotations')),
    owners: arrayAt(metadata, 'ownerReferences').filter(isJsonObject).map(readOwner),
    finalizers: arrayAt(metadata, 'finalizers').filter((one) => typeof one === 'string'),
    terminating: stringAt(metadata, 'deletionTimestamp') !== '',
  }
}

function readOwner(reference: JsonObject): OwnerReference {
  return {
    reference,
    apiVersion: stringAt(reference, 'apiVersion'),
    kind: stringAt(reference, 'kind'),
    name: stringAt(reference, 'name'),
    uid: stringAt(reference, 'uid'),
    blocksOwnerDeletion: valueAt(reference, 'blockOwnerDeletion') === true,
  }
}

/** What caches keep of an object whose content does not matter: its metadata without labels and annotations, enough to collect garbage. */
export interface MetadataObject {
  readonly meta: ObjectMeta
}

/** Reads the metadata of any object; see `readMeta`. */
export function readMetadataObject(object: JsonObject): MetadataObject {
  return { meta: { ...readMeta(object), labels: {}, annotations: {} } }
}
