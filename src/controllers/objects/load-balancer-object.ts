import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, objectAt, stringAt } from '../../lib/json.ts'
import { canonicalAddress } from '../../lib/legacy-address.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/condition-names.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'

/** What a Service requests from a load balancer, and its status. */
export interface LoadBalancerObject {
  /** The Service is of type LoadBalancer. */
  readonly wanted: boolean
  /** `spec.loadBalancerClass`; empty when any controller may serve it. */
  readonly className: string
  /** `spec.loadBalancerIP`; empty when any address will do. */
  readonly requested: string
  /** Addresses of `status.loadBalancer.ingress`, in canonical text; empty for a host name. */
  readonly ingress: readonly string[]
  /** Whether it has the addresses that it requests. */
  readonly condition: StatusCondition
}

export function readLoadBalancer(service: JsonObject): LoadBalancerObject {
  return {
    wanted: stringAt(service, 'spec', 'type') === 'LoadBalancer',
    className: stringAt(service, 'spec', 'loadBalancerClass'),
    requested: stringAt(service, 'spec', 'loadBalancerIP'),
    ingress: arrayAt(service, 'status', 'loadBalancer', 'ingress')
      .map((one) => stringAt(one, 'ip'))
      .map(canonicalAddress),
    condition: readCondition(objectAt(service, 'status'), LOAD_BALANCER_CONDITION),
  }
}
