import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  without,
} from '../../../lib/json.ts'
import { HOSTNAME, ZONE } from '../../../resources/label-names.ts'

/**
 * v1beta1 kept an endpoint's node and zone in the map `topology`; v1 has fields
 * for them and keeps the rest as `deprecatedTopology`.
 */
export function sliceToV1beta1(slice: JsonObject): JsonObject {
  return mapEndpoints(slice, (endpoint) => {
    const topology = { ...objectAt(endpoint, 'deprecatedTopology') }
    if (typeof endpoint['nodeName'] === 'string') topology[HOSTNAME] = endpoint['nodeName']
    if (typeof endpoint['zone'] === 'string') topology[ZONE] = endpoint['zone']
    const rest = without(endpoint, 'deprecatedTopology', 'zone')
    return Object.keys(topology).length === 0 ? rest : { ...rest, topology }
  })
}

/** The inverse: what v1beta1 clients send, as v1. */
export function sliceFromV1beta1(slice: JsonObject): JsonObject {
  return mapEndpoints(slice, (endpoint) => {
    const topology = objectAt(endpoint, 'topology')
    const { [HOSTNAME]: hostname, [ZONE]: zone, ...others } = topology
    const converted = without(endpoint, 'topology')
    if (typeof hostname === 'string') converted['nodeName'] ??= hostname
    if (typeof zone === 'string') converted['zone'] = zone
    if (Object.keys(others).length > 0) converted['deprecatedTopology'] = others
    return converted
  })
}

function mapEndpoints(
  slice: JsonObject,
  convert: (endpoint: JsonObject) => JsonObject,
): JsonObject {
  if (!Object.hasOwn(slice, 'endpoints')) return slice
  const endpoints = arrayAt(slice, 'endpoints').map((one: Json) =>
    isJsonObject(one) ? convert(one) : one,
  )
  return { ...slice, endpoints }
}
