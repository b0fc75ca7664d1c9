import { type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { checkOfEach, type ObjectFinding } from '../evidence/finding.ts'
import { isInspected } from '../evidence/inspected-object.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/**
 * Session affinity sends a client to one backend, so that few clients use few backends. Because that is intended, it is
 * a finding only if the counters of a node show that the load is unbalanced, or for the inspected Service.
 */
export const sessionAffinity = checkOfEach(
  'services',
  'session-affinity',
  (service, evidence, inspected) => {
    if (stringAt(service, 'spec', 'sessionAffinity') !== 'ClientIP') return []
    const endpoints = evidence.readyEndpointsOf(service)
    if (endpoints < 2) return []
    const counted = unbalanced(service, evidence)
    const isShown = counted.length > 0 || isInspected('service', service, inspected)
    return isShown ? [findingOf(service, counted, endpoints)] : []
  },
)

function findingOf(
  service: JsonObject,
  counted: readonly string[],
  endpoints: number,
): ObjectFinding {
  const seconds =
    scalarText(valueAt(service, 'spec', 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds')) ||
    '10800'
  return {
    symptom: 'Unbalanced load',
    cause: `sessionAffinity is ClientIP: a client stays at one of ${endpoints} endpoints for ${seconds} s after its last connection`,
    evidence: [
      ...counted,
      'clients behind one address (NAT, a proxy, a load balancer) are one client',
    ],
    remedy: 'set sessionAffinity to None if the Pods share their state, or shorten its timeout',
    commands: [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`],
  }
}

/** Connections per backend that are needed for a judgement. */
const ENOUGH = 50
/** A backend with this multiple of its equal share is unbalanced; by chance alone, one of thousands has so much. */
const TIMES = 1.5

function unbalanced(service: JsonObject, { traffic }: ClusterEvidence): readonly string[] {
  return traffic
    .filter((one) => one.service === keyOf(service) && one.backends.length > 1)
    .flatMap(({ node, backends }) => {
      const total = backends.reduce((sum, { connections }) => sum + connections, 0)
      const [most] = backends.toSorted((a, b) => b.connections - a.connections)
      const share = total / backends.length
      if (most === undefined || share < ENOUGH || most.connections < TIMES * share) return []
      return [`on ${node}, ${most.backend} got ${most.connections} of ${total} connections`]
    })
}
