import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/label-names.ts'
import type { Check } from '../evidence/finding.ts'
import { conditionOf, keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** A Service of type LoadBalancer that has no address yet: nothing assigns one, or no pool has one left. */
export const loadBalancerPending: Check = {
  name: 'load-balancer-pending',
  find: (evidence) =>
    evidence
      .all('services')
      .filter(isPending)
      .map((service) => {
        const condition = conditionOf(service, LOAD_BALANCER_CONDITION)
        const message = stringAt(condition, 'message')
        const { why, remedy } = REASONS.get(stringAt(condition, 'reason')) ?? unknownReason(message)
        const loadBalancerClass = stringAt(service, 'spec', 'loadBalancerClass')
        return {
          check: loadBalancerPending.name,
          symptom: 'External access fails',
          object: `service/${keyOf(service)}`,
          affects: [],
          cause: `it is of type LoadBalancer, and ${why}`,
          evidence: [
            message === '' ? 'no controller has reported on it' : message,
            ...(loadBalancerClass === '' ? [] : [`its loadBalancerClass is ${loadBalancerClass}`]),
          ],
          remedy,
          commands: [`orchctl -n ${namespaceOf(service)} describe service ${nameOf(service)}`],
        }
      }),
}

interface Reason {
  readonly why: string
  readonly remedy: string
}

/** By the reason of the condition that orch-server writes. */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  [
    'PoolExhausted',
    {
      why: 'no pool has an address left for it',
      remedy: 'delete a Service that has one, or add addresses to the pools (--load-balancer-pool)',
    },
  ],
  [
    'AddressInUse',
    {
      why: 'its loadBalancerIP belongs to another Service',
      remedy: 'remove spec.loadBalancerIP, or write a free address',
    },
  ],
  [
    'AddressNotUsable',
    {
      why: 'its loadBalancerIP is in no pool',
      remedy: 'remove spec.loadBalancerIP, or write an address of a pool (--load-balancer-pool)',
    },
  ],
])

function unknownReason(message: string): Reason {
  const why = 'its status has no address'
  const remedy =
    message === ''
      ? 'run a controller of load balancers (orch-server has one: --load-balancer-pool), or use a node port'
      : 'correct what its controller reports'
  return { why, remedy }
}

function isPending(service: JsonObject): boolean {
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  const isBalanced = stringAt(service, 'spec', 'type') === 'LoadBalancer'
  // externalIPs reach it without a load balancer.
  return isBalanced && ingress.length === 0 && arrayAt(service, 'spec', 'externalIPs').length === 0
}
