import type { JsonObject } from '../../lib/json.ts'
import { objectAt, stringAt } from '../../lib/json.ts'

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
}

export function readMeta(object: JsonObject): ObjectMeta {
  const metadata = objectAt(object, 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const name = stringAt(metadata, 'name')
  return {
    key: namespace === '' ? name : `${namespace}/${name}`,
    namespace,
    name,
    uid: stringAt(metadata, 'uid'),
    version: stringAt(metadata, 'resourceVersion'),
    createdAt: stringAt(metadata, 'creationTimestamp'),
    labels: readStrings(objectAt(metadata, 'labels')),
    annotations: readStrings(objectAt(metadata, 'annotations')),
  }
}

/** The entries of a map whose values are strings. */
export function readStrings(map: JsonObject): StringMap {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
