import { arrayAt, type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import type { OwnedObject } from './object-meta.ts'
import { readOwned } from './object-meta.ts'

/** What controllers need to know of a Namespace. */
export interface NamespaceObject extends OwnedObject {
  /** `spec.finalizers`: who has to be done with it before it goes. */
  readonly finalizers: readonly string[]
  readonly status: JsonObject
}

export function readNamespace(object: JsonObject): NamespaceObject {
  return {
    ...readOwned(object),
    finalizers: arrayAt(object, 'spec', 'finalizers').map(scalarText),
    status: objectAt(object, 'status'),
  }
}
