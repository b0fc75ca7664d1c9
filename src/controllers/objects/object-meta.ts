import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../lib/json.ts'

/** Labels, annotations or a selector. */
export type StringMap = Readonly<Record<string, string>>

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
  /** Whether the object is being deleted, that is, has a `deletionTimestamp`. */
  readonly terminating: boolean
}

/**
 * One of `metadata.ownerReferences` of an object. The object is deleted when it has no owner any more. An owner is in
 * the namespace of the object, or cluster-scoped.
 */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** The field `controller`: at most one owner of an object has it. */
  readonly isController: boolean
  /** The field `blockOwnerDeletion`: whether a foreground deletion of the owner waits until the object is deleted. */
  readonly blocksOwnerDeletion: boolean
  /** The reference as it is stored, so that it can be written again unchanged. */
  readonly reference: JsonObject
}

/** The owner that controls an object, of which there is at most one. */
export function controllerOf({ owners }: Pick<ObjectMeta, 'owners'>): OwnerReference | undefined {
  return owners.find(({ isController }) => isController)
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
    isController: valueAt(reference, 'controller') === true,
    blocksOwnerDeletion: valueAt(reference, 'blockOwnerDeletion') === true,
  }
}

/**
 * What caches keep of an object whose content is not needed: its metadata, with empty labels and annotations. This is
 * enough for garbage collection.
 */
export interface MetadataObject {
  readonly meta: ObjectMeta
}

/** Reads the metadata of any object, without labels and annotations. Never fails; see `readMeta`. */
export function readMetadataObject(object: JsonObject): MetadataObject {
  return { meta: { ...readMeta(object), labels: {}, annotations: {} } }
}

/**
 * Compares two objects of one collection for sorting: by creation time, the oldest first; by key if the times are equal
 * or one of them is unknown.
 */
export function byAge(
  { meta: a }: { readonly meta: ObjectMeta },
  { meta: b }: { readonly meta: ObjectMeta },
): number {
  const difference = Date.parse(a.createdAt) - Date.parse(b.createdAt)
  const isDecided = difference !== 0 && !Number.isNaN(difference)
  if (isDecided) return difference
  return a.key < b.key ? -1 : 1
}

/** The entries of a map whose values are strings. The API allows no other values, so others are left out. */
export function readStrings(map: JsonObject): StringMap {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** The merge patch (RFC 7396) that makes `current` equal to `wanted`; empty when they are equal. */
export function replacementPatch(current: StringMap, wanted: StringMap): JsonObject {
  const extra = Object.keys(current).filter((key) => !Object.hasOwn(wanted, key))
  return { ...Object.fromEntries(extra.map((key) => [key, null])), ...keysPatch(current, wanted) }
}

/** The wanted values of some keys of a map; undefined for a key that the map must not have. */
export type WantedKeys = Readonly<Record<string, string | undefined>>

/** The merge patch (RFC 7396) that sets or removes the `wanted` keys and no other key; empty when nothing differs. */
export function keysPatch(current: StringMap, wanted: WantedKeys): JsonObject {
  const changed = Object.entries(wanted).filter(([key, value]) => ownValue(current, key) !== value)
  return Object.fromEntries(changed.map(([key, value]) => [key, value ?? null]))
}

/** A copy of a map without some keys. */
export function withoutKeys(map: StringMap, ...keys: readonly string[]): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))
}

/** Whether an object has no own keys. */
export function isEmpty(map: object): boolean {
  return Object.keys(map).length === 0
}

/** The value of an own key, so that keys such as `constructor` are not found in the prototype. */
export function ownValue(map: StringMap, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
