import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject } from '../../lib/json.ts'
import { LEADER_ELECTION } from '../../resources/label-names.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** The fields of a v1 Endpoints object that controllers read, subsets as they are stored. */
export interface EndpointsObject {
  readonly meta: ObjectMeta
  readonly subsets: readonly JsonObject[]
}

/** Reads an Endpoints object as the API server sent it; see `readMeta` for missing fields. */
export function readEndpoints(object: JsonObject): EndpointsObject {
  return { meta: readMeta(object), subsets: arrayAt(object, 'subsets').filter(isJsonObject) }
}

/** Whether the object is a lock of a leader election, by its annotation. Such an object holds no endpoints. */
export function isElectionLock({ meta }: EndpointsObject): boolean {
  return Object.hasOwn(meta.annotations, LEADER_ELECTION)
}
