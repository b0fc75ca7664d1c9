import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../../../lib/json.ts'
import { addressKey, nodePortKey } from '../../../allocation/allocation-keys.ts'
import type { StatusCause } from '../../../status/status.ts'

/** A completed spec, or the fault of the values that it names. */
export type Filled = { readonly spec: JsonObject } | { readonly cause: StatusCause }

/** Every allocation key that a stored Service holds. */
export function keysHeldBy(service: JsonObject): ReadonlySet<string> {
  const spec = objectAt(service, 'spec')
  const texts = arrayAt(spec, 'clusterIPs').map(scalarText)
  const ips = texts.filter((ip) => ip !== '' && ip !== 'None')
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  const nodePorts = ports.flatMap((port) => {
    const number = numberAt(port, 'nodePort')
    return number === 0 ? [] : [nodePortKey(protocolOf(port), number)]
  })
  const health = numberAt(spec, 'healthCheckNodePort')
  return new Set([
    ...ips.map(addressKey),
    ...nodePorts,
    ...(health === 0 ? [] : [nodePortKey('TCP', health)]),
  ])
}

export function numberAt(object: JsonObject, field: string): number {
  const value = valueAt(object, field)
  return typeof value === 'number' ? value : 0
}

export function protocolOf(port: JsonObject): string {
  return stringAt(port, 'protocol') || 'TCP'
}
