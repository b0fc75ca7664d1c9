import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/condition-names.ts'
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
        const loadBalancerClass = stringAt(service, 'spec', 'loadBalancerClass')
        return {
          check: loadBalancerPending.name,
          symptom: 'External access fails',
          object: `service/${keyOf(service)}`,
          affects: [],
          cause: 'it is of type LoadBalancer, and its status has no address',
          evidence: [
            message === '' ? 'no controller has reported on it' : message,
            ...(loadBalancerClass === '' ? [] : [`its loadBalancerClass is ${loadBalancerClass}`]),
          ],
          remedy:
            message === ''
              ? 'run a controller of load balancers (orch-server has one: --load-balancer-pool), or use a node port'
              : 'free an address, or add one to the pools',
          commands: [`orchctl -n ${namespaceOf(service)} describe service ${nameOf(service)}`],
        }
      }),
}

function isPending(service: JsonObject): boolean {
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  const isBalanced = stringAt(service, 'spec', 'type') === 'LoadBalancer'
  // externalIPs reach it without a load balancer.
  return isBalanced && ingress.length === 0 && arrayAt(service, 'spec', 'externalIPs').length === 0
}
