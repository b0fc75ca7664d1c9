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
import { type Check, checkOfEach, type Finding, SHOWN } from '../evidence/finding.ts'
import {
  declaredPorts,
  isPresent,
  isReady,
  keyOf,
  labelsOf,
  nameOf,
  namespaceOf,
  numberOfName,
  selectorOf,
  selects,
  targetNumber,
} from '../evidence/objects.ts'

/** A Service that has no endpoints although its Pods are ready, or that has neither a selector nor endpoints. */
export const endpointsMissing: Check = {
  name: 'endpoints-missing',
  find: (evidence) => {
    if (!evidence.has('services', 'endpointslices', 'pods')) return []
    const explained = new Set(targetPort.find(evidence).map(({ object }) => object))
    return evidence
      .all('services')
      .filter((service) => !explained.has(`service/${keyOf(service)}`))
      .flatMap((service) => missingEndpoints(service, evidence))
  },
}

function missingEndpoints(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  if (stringAt(service, 'spec', 'type') === 'ExternalName') return []
  if (evidence.readyEndpointsOf(service) > 0) return []
  const selector = selectorOf(service)
  const namespace = namespaceOf(service)
  const found = {
    check: endpointsMissing.name,
    symptom: 'Service not reachable',
    object: `service/${keyOf(service)}`,
    affects: [],
  } as const
  if (isOfServer(service)) {
    if (evidence.all('pods').length === 0) return []
    return [
      {
        ...found,
        cause: 'the API server does not say at which address Pods reach it',
        evidence: ['it has no endpoint, as where the server listens on the loopback'],
        remedy: 'give orch-server --bind-address, or --advertise-address with what leads to it',
        commands: [`orchctl -n ${namespace} get endpoints ${nameOf(service)}`],
      },
    ]
  }
  if (selector === undefined) {
    return [
      {
        ...found,
        cause: 'it has no selector, and no EndpointSlice with a ready endpoint',
        evidence: [`${evidence.slicesOf(service).length} EndpointSlices have its label`],
        remedy: 'write its EndpointSlice, or give it a selector',
        commands: [
          `orchctl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${nameOf(service)}`,
        ],
      },
    ]
  }
  const ready = evidence
    .podsIn(namespace)
    .filter((pod) => isPresent(pod) && isReady(pod) && selects(selector, labelsOf(pod)))
  if (ready.length === 0) return []
  return [
    {
      ...found,
      cause: `${ready.length} of its Pods are ready, and none is in its EndpointSlices`,
      evidence: [
        `ready: ${ready
          .slice(0, SHOWN)
          .map((pod) => `pod/${nameOf(pod)}`)
          .join(', ')}`,
        `${evidence.slicesOf(service).length} EndpointSlices have its label`,
      ],
      remedy: 'the controller of endpoints does not run, or fails: look at its log and metrics',
      commands: [
        "curl -s https://API-SERVER/metrics | grep -E 'workqueue_depth|orchserver_leader'",
      ],
    },
  ]
}

/** The Service of the API server. It has no endpoint if the server has no address for Pods; only they need one. */
function isOfServer(service: JsonObject): boolean {
  return namespaceOf(service) === 'default' && ['kubernetes', 'orch'].includes(nameOf(service))
}

/** A Service whose targetPort is not a port of its Pods, so that nothing listens there. */
export const targetPort = checkOfEach('services', 'target-port', (service, evidence) => {
  const pods = evidence.podsOf(service)
  if (pods.length === 0) return []
  return arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const wrong = nameProblem(port, pods) ?? numberProblem(port, pods)
    if (wrong === undefined) return []
    return [
      {
        symptom: 'Service not reachable',
        ...wrong,
        remedy: 'write the name that the containers give the port, or its number',
        commands: [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`],
      },
    ]
  })
})

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
  const [first] = pods
  const target = first && targetNumber(port, first)
  const declared = new Set(
    pods.flatMap((pod) =>
      declaredPorts(pod).map((one) => scalarText(valueAt(one, 'containerPort'))),
    ),
  )
  const [only = ''] = declared
  if (target === undefined || declared.size !== 1 || only === String(target)) return undefined
  const protocol = stringAt(port, 'protocol') || 'TCP'
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
