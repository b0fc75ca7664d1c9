import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { PodState } from './pod-state.ts'
import type { SliceState } from './slice-state.ts'

/** What of a Service decides who is behind it, and whether it is complete. */
export interface ServiceState {
  readonly name: string
  /** Undefined: the Service has no selector, so a user writes its endpoints. */
  readonly selector: Readonly<Record<string, unknown>> | undefined
  /** It has the addresses that its type promises. */
  readonly hasAddresses: boolean
}

export function readService(service: JsonObject): ServiceState {
  const selector = objectAt(service, 'spec', 'selector')
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  return {
    name: stringAt(service, 'metadata', 'name'),
    selector: Object.keys(selector).length === 0 ? undefined : selector,
    hasAddresses: stringAt(service, 'spec', 'type') !== 'LoadBalancer' || ingress.length > 0,
  }
}

/** Whether the endpoints of a Service are those of its pods. */
export function isServedBy(
  { name, selector, hasAddresses }: ServiceState,
  pods: readonly PodState[],
  slices: readonly SliceState[],
): boolean {
  if (!hasAddresses) return false
  if (selector === undefined) return true
  const wanted = Object.entries(selector)
  const serving = pods.filter(
    ({ ready, leaving, labels }) =>
      ready && !leaving && wanted.every(([key, value]) => labels[key] === value),
  )
  const published = slices.filter(({ service }) => service === name).flatMap(({ ready }) => ready)
  return (
    serving
      .map((pod) => pod.name)
      .toSorted()
      .join() === published.toSorted().join()
  )
}
