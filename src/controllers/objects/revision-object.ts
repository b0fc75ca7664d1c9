import { type JsonObject, objectAt } from '../../lib/json.ts'
import { type ObjectMeta, readMeta } from './object-meta.ts'
import { countAt } from './workload-object.ts'

/** The fields of a ControllerRevision that controllers read. */
export interface RevisionObject {
  readonly meta: ObjectMeta
  /** Its place in the history of its owner: later ones have greater numbers. */
  readonly revision: number
  /** The state of the owner that it keeps. */
  readonly data: JsonObject
}

/** Reads a ControllerRevision as the API server sent it; see `readMeta` for missing fields. */
export function readRevision(object: JsonObject): RevisionObject {
  return {
    meta: readMeta(object),
    revision: countAt(object, 0, 'revision'),
    data: objectAt(object, 'data'),
  }
}
