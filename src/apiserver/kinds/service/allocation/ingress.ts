import { isDeepStrictEqual } from 'node:util'
import { arrayAt, type JsonObject, objectAt, stringAt, without } from '../../../../lib/json.ts'
import { invalidValue } from '../../../status/causes.ts'
import type { StatusCause } from '../../../status/status.ts'

const PATH = ['status', 'loadBalancer', 'ingress']

/**
 * Only a Service of type LoadBalancer has addresses of a load balancer. They go
 * with the type, in the same write; who reports some for another type is refused.
 */
export function dropIngress(
  next: JsonObject,
  old: JsonObject | undefined,
): { readonly object: JsonObject } | { readonly cause: StatusCause } {
  const ingress = arrayAt(next, ...PATH)
  if (ingress.length === 0 || stringAt(next, 'spec', 'type') === 'LoadBalancer') {
    return { object: next }
  }
  if (!isDeepStrictEqual(ingress, arrayAt(old, ...PATH))) {
    const message = 'may only be set for a Service of type LoadBalancer'
    return { cause: invalidValue(PATH.join('.'), ingress, message) }
  }
  const loadBalancer = without(objectAt(next, 'status', 'loadBalancer'), 'ingress')
  return { object: { ...next, status: { ...objectAt(next, 'status'), loadBalancer } } }
}
