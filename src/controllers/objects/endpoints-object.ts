import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject } from '../../lib/json.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** A v1 Endpoints object as it is stored. */
export interface EndpointsObject {
  readonly meta: ObjectMeta
  readonly subsets: readonly JsonObject[]
}

export function readEndpoints(object: JsonObject): EndpointsObject {
  return { meta: readMeta(object), subsets: arrayAt(object, 'subsets').filter(isJsonObject) }
}
