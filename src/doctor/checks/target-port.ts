import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'
import { declaredPorts, numberOfName, targetNumber } from '../evidence/pod-ports.ts'

/** A Service whose targetPort is not a port of its Pods, so that nothing listens there. */
export const targetPort: Check = {
  name: 'target-port',
  find: (evidence) => {
    if (!evidence.has('services', 'pods')) return []
    return evidence.all('services').flatMap((service) => findingsOf(service, evidence))
  },
}

function findingsOf(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  const pods = evidence.podsOf(service)
  if (pods.length === 0) return []
  return arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const wrong = nameProblem(port, pods) ?? numberProblem(port, pods)
    if (wrong === undefined) return []
    return [
      {
        check: targetPort.name,
        symptom: 'Service not reachable',
        object: `service/${keyOf(service)}`,
        affects: [],
        ...wrong,
        remedy: 'write the name that the containers give the port, or its number',
        commands: [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`],
      },
    ]
  })
}

type Wrong = Pick<Finding, 'cause' | 'evidence'>

function nameProblem(port: Json, pods: readonly JsonObject[]): Wrong | undefined {
  const target = stringAt(port, 'targetPort')
  const declared = pods.flatMap(declaredPorts).map((one) => stringAt(one, 'name'))
  const names = new Set(declared.filter((name) => name !== ''))
  if (target === '' || /^\d+$/.test(target) || names.has(target)) return undefined
  const meant = nearest(target, names)
  const known = names.size === 0 ? 'none' : [...names].join(', ')
  return {
    cause: `targetPort ${quote(target)} is the name of no port of its Pods`,
    evidence: [
      `the ports of its ${pods.length} Pods are named: ${known}`,
      ...(meant === undefined ? [] : [`${quote(meant)} is nearly the same`]),
    ],
  }
}

/** A port that no container declares is legal. It is wrong if all declare another one, which readiness probes use. */
function numberProblem(port: Json, pods: readonly JsonObject[]): Wrong | undefined {
  const protocol = stringAt(port, 'protocol') || 'TCP'
  const numbers = pods.map((pod) => targetNumber(port, pod))
  const declared = new Set(
    pods.flatMap((pod) =>
      declaredPorts(pod).map((one) => scalarText(valueAt(one, 'containerPort'))),
    ),
  )
  const [target] = numbers
  const [only = ''] = declared
  if (target === undefined || declared.size !== 1 || only === String(target)) return undefined
  if (protocol !== 'TCP' || !pods.every((pod) => isProbed(pod, only))) return undefined
  return {
    cause: `targetPort ${target} is declared by no container of its Pods`,
    evidence: [`all of them declare port ${only} alone, and their readiness probes use it`],
  }
}

function isProbed(pod: JsonObject, number: string): boolean {
  const probes = arrayAt(pod, 'spec', 'containers').map((one) => valueAt(one, 'readinessProbe'))
  const ports = probes.flatMap((probe) =>
    ['httpGet', 'tcpSocket', 'grpc'].map((action) => scalarText(valueAt(probe, action, 'port'))),
  )
  return ports.some((port) => port === number || String(numberOfName(port, pod)) === number)
}
