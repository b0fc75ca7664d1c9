import { parseIp } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, stringAt } from '../../lib/json.ts'
import { LOAD_BALANCER_CONDITION } from './names.ts'

/** What a Service asks of a load balancer, and what was written about it. */
export interface LoadBalancerObject {
  /** The Service is of type LoadBalancer. */
  readonly wanted: boolean
  /** `spec.loadBalancerClass`; empty when anybody may serve it. */
  readonly className: string
  /** `spec.loadBalancerIP`; empty when any address will do. */
  readonly requested: string
  /** Addresses of `status.loadBalancer.ingress`, in canonical text; empty for a host name. */
  readonly ingress: readonly string[]
  /** The condition of ours; texts are empty when there is none. */
  readonly condition: {
    readonly status: string
    readonly reason: string
    readonly message: string
  }
}

export function readLoadBalancer(service: JsonObject): LoadBalancerObject {
  const condition = arrayAt(service, 'status', 'conditions').find(
    (one) => stringAt(one, 'type') === LOAD_BALANCER_CONDITION,
  )
  return {
    wanted: stringAt(service, 'spec', 'type') === 'LoadBalancer',
    className: stringAt(service, 'spec', 'loadBalancerClass'),
    requested: stringAt(service, 'spec', 'loadBalancerIP'),
    ingress: arrayAt(service, 'status', 'loadBalancer', 'ingress')
      .map((one) => stringAt(one, 'ip'))
      .map((text) => parseIp(text) ?? text),
    condition: {
      status: stringAt(condition, 'status'),
      reason: stringAt(condition, 'reason'),
      message: stringAt(condition, 'message'),
    },
  }
}
