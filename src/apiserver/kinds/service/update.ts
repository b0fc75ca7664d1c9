import type { Reader } from '../../../resources/reader.ts'

/**
 * What is fixed once a load balancer exists: its class, and where it checks
 * for the health of a node. Both go with the type.
 */
export function checkServiceUpdate(next: Reader, old: Reader): void {
  const [spec, before] = [next.object('spec'), old.object('spec')]
  if (!isBalanced(spec) || !isBalanced(before)) return
  if (spec.value('loadBalancerClass') !== before.value('loadBalancerClass')) {
    spec.refuse('loadBalancerClass', 'may not change once set')
  }
  const port = before.value('healthCheckNodePort') ?? 0
  const requested = spec.value('healthCheckNodePort') ?? 0
  const isLocal = spec.value('externalTrafficPolicy') === 'Local'
  if (isLocal && port !== 0 && requested !== 0 && requested !== port) {
    spec.refuse('healthCheckNodePort', 'may not change once set')
  }
}

function isBalanced(spec: Reader): boolean {
  return spec.value('type') === 'LoadBalancer'
}
