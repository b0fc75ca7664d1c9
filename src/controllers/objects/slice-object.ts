import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, stringAt } from '../../lib/json.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** An EndpointSlice as it is stored. */
export interface SliceObject {
  readonly meta: ObjectMeta
  readonly owners: readonly JsonObject[]
  readonly addressType: string
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly JsonObject[]
}

export function readSlice(object: JsonObject): SliceObject {
  return {
    meta: readMeta(object),
    owners: arrayAt(object, 'metadata', 'ownerReferences').filter(isJsonObject),
    addressType: stringAt(object, 'addressType'),
    ports: arrayAt(object, 'ports').filter(isJsonObject),
    endpoints: arrayAt(object, 'endpoints').filter(isJsonObject),
  }
}
