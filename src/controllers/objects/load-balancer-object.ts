import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, objectAt, stringAt } from '../../lib/json.ts'
import { canonicalAddress } from '../../lib/legacy-address.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/condition-names.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'

/** The fields of a Service about load balancers. */
export interface LoadBalancerObject {
  /** Whether the Service is of type LoadBalancer. */
  readonly isRequested: boolean
  /** `spec.loadBalancerClass`; empty when any controller may serve it. */
  readonly className: string
  /** `spec.loadBalancerIP`; empty when any address will do. */
  readonly requestedIP: string
  /** `ip` of each `status.loadBalancer.ingress`, in canonical text; empty for one with a host name only. */
  readonly ingress: readonly string[]
  /** The condition `orch.io/LoadBalancerAddress`: whether the Service has the addresses that it requests. */
  readonly condition: StatusCondition
}

/** Reads a Service as the API server sent it; see `readMeta` for missing fields. */
export function readLoadBalancer(service: JsonObject): LoadBalancerObject {
  return {
    isRequested: stringAt(service, 'spec', 'type') === 'LoadBalancer',
    className: stringAt(service, 'spec', 'loadBalancerClass'),
    requestedIP: stringAt(service, 'spec', 'loadBalancerIP'),
    ingress: arrayAt(service, 'status', 'loadBalancer', 'ingress')
      .map((one) => stringAt(one, 'ip'))
      .map(canonicalAddress),
    condition: readCondition(objectAt(service, 'status'), LOAD_BALANCER_CONDITION),
  }
}
