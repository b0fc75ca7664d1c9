import { arrayAt, type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import type { MetadataObject } from './object-meta.ts'
import { readMetadataObject } from './object-meta.ts'

/** The fields of a Namespace that controllers read. */
export interface NamespaceObject extends MetadataObject {
  /** `spec.finalizers`: the server keeps the Namespace until this list is empty. */
  readonly finalizers: readonly string[]
  readonly status: JsonObject
}

/** Reads a Namespace as the API server sent it; see `readMeta` for missing fields. */
export function readNamespace(object: JsonObject): NamespaceObject {
  return {
    ...readMetadataObject(object),
    finalizers: arrayAt(object, 'spec', 'finalizers').map(scalarText),
    status: objectAt(object, 'status'),
  }
}
