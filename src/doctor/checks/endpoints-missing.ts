import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import {
  isPresent,
  isReady,
  keyOf,
  labelsOf,
  nameOf,
  namespaceOf,
  selectorOf,
  selects,
} from '../evidence/objects.ts'
import { targetPort } from './target-port.ts'

/** A Service that has no endpoints although its Pods are ready, or that has neither a selector nor endpoints. */
export const endpointsMissing: Check = {
  name: 'endpoints-missing',
  find: (evidence) => {
    if (!evidence.has('services', 'endpointslices', 'pods')) return []
    const explained = new Set(targetPort.find(evidence).map(({ object }) => object))
    return evidence
      .all('services')
      .filter((service) => !explained.has(`service/${keyOf(service)}`))
      .flatMap((service) => findingOf(service, evidence))
  },
}

function findingOf(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
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

const SHOWN = 3
