import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'

export type StringMap = Readonly<Record<string, string>>

/** Who an object is, at which version, and what is written on it. */
export interface ObjectMeta {
  /** `namespace/name`, or `name` without a namespace. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** `metadata.resourceVersion`. */
  readonly version: string
  /** RFC 3339; empty when the server said nothing. */
  readonly createdAt: string
  readonly labels: StringMap
  readonly annotations: StringMap
  readonly owners: readonly OwnerReference[]
  readonly finalizers: readonly string[]
  /** Its deletion has been asked for. */
  readonly terminating: boolean
}

/** An object that another one goes with; in the same namespace, or in none. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Its deletion in the foreground waits for that of the dependent. */
  readonly blocks: boolean
  /** As it is stored. */
  readonly reference: JsonObject
}

/** `namespace/name`, or `name` without a namespace. */
export function keyOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

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
    blocks: valueAt(reference, 'blockOwnerDeletion') === true,
  }
}

/** The entries of a map whose values are strings. */
export function readStrings(map: JsonObject): StringMap {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** An object of which only matters who it is and whose; its contents are not kept. */
export interface OwnedObject {
  readonly meta: ObjectMeta
}

export function readOwned(object: JsonObject): OwnedObject {
  return { meta: { ...readMeta(object), labels: {}, annotations: {} } }
}
