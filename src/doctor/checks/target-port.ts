import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import {
  isPresent,
  keyOf,
  labelsOf,
  nameOf,
  namespaceOf,
  selectorOf,
  selects,
} from '../evidence/objects.ts'

/** A Service whose targetPort is the name of no port of its Pods: that port has no endpoints. */
export const targetPort: Check = {
  name: 'target-port',
  find: (evidence) => {
    if (!evidence.has('services', 'pods')) return []
    return evidence.all('services').flatMap((service) => findingsOf(service, evidence))
  },
}

function findingsOf(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  const selector = selectorOf(service)
  if (selector === undefined) return []
  const namespace = namespaceOf(service)
  const pods = evidence
    .podsIn(namespace)
    .filter((pod) => isPresent(pod) && selects(selector, labelsOf(pod)))
  if (pods.length === 0) return []
  const names = new Set(pods.flatMap(portNames))
  const missing = arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const target = scalarText(valueAt(port, 'targetPort'))
    return target === '' || /^\d+$/.test(target) || names.has(target) ? [] : [target]
  })
  return missing.map((target) => {
    const meant = nearest(target, names)
    const known = names.size === 0 ? 'none' : [...names].join(', ')
    return {
      check: targetPort.name,
      symptom: 'Service not reachable',
      object: `service/${keyOf(service)}`,
      affects: [],
      cause: `targetPort ${quote(target)} is the name of no port of its Pods`,
      evidence: [
        `the ports of its ${pods.length} Pods are named: ${known}`,
        ...(meant === undefined ? [] : [`${quote(meant)} is nearly the same`]),
      ],
      remedy: 'write the name that the containers give the port, or its number',
      commands: [`orchctl -n ${namespace} edit service/${nameOf(service)}`],
    }
  })
}

function portNames(pod: JsonObject): readonly string[] {
  return arrayAt(pod, 'spec', 'containers')
    .flatMap((container) => arrayAt(container, 'ports'))
    .map((port) => stringAt(port, 'name'))
    .filter((name) => name !== '')
}
