import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, stringAt } from '../../lib/json.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** The fields of an EndpointSlice that controllers read, ports and endpoints as they are stored. */
export interface SliceObject {
  readonly meta: ObjectMeta
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly JsonObject[]
}

/** Reads an EndpointSlice as the API server sent it; see `readMeta` for missing fields. */
export function readSlice(object: JsonObject): SliceObject {
  return {
    meta: readMeta(object),
    addressType: stringAt(object, 'addressType'),
    ports: arrayAt(object, 'ports').filter(isJsonObject),
    endpoints: arrayAt(object, 'endpoints').filter(isJsonObject),
  }
}
