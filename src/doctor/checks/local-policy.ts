import { arrayAt, type JsonObject, scalarText, stringAt } from '../../lib/json.ts'
import { NAMES } from '../../resources/names.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { checkOfEach, type ObjectFinding, SHOWN, shortList } from '../evidence/finding.ts'
import { type InspectedObject, isInspected } from '../evidence/inspected-object.ts'
import {
  conditionOf,
  isPresent,
  keyOf,
  labelsOf,
  nameOf,
  namespaceOf,
} from '../evidence/objects.ts'

/**
 * A policy Local without endpoints on nodes where packets arrive. For external traffic, some nodes without endpoints
 * are normal, because a load balancer leaves them out; so this is a finding only if no node has one, or for the inspected
 * Service. For internal traffic, nodes with other Pods of the namespace count; for the inspected Service, nodes with
 * any Pods.
 */
export const localPolicy = checkOfEach(
  'services',
  'local-policy',
  (service, evidence, inspected) => {
    if (!evidence.has('endpointslices', 'nodes')) return []
    if (evidence.readyEndpointsOf(service) === 0) return []
    return [...external(service, evidence, inspected), ...internal(service, evidence, inspected)]
  },
)

function external(
  service: JsonObject,
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
): readonly ObjectFinding[] {
  if (stringAt(service, 'spec', 'externalTrafficPolicy') !== 'Local') return []
  const nodes = evidence.all('nodes').filter(isServing).map(nameOf)
  const holders = nodesOfEndpoints(service, evidence)
  const without = nodes.filter((node) => !holders.has(node))
  const isNowhere = !evidence.all('nodes').some((node) => holders.has(nameOf(node)))
  if (without.length === 0 || !(isNowhere || isInspected('service', service, inspected))) return []
  return [
    {
      symptom: 'External access fails',
      cause: isNowhere
        ? 'externalTrafficPolicy is Local, and no node has a ready endpoint of it'
        : `externalTrafficPolicy is Local: ${shortList(without, ' nodes')} drop its external traffic`,
      evidence: endpointTexts(service, evidence),
      remedy: 'set externalTrafficPolicy to Cluster, or run a Pod of it on each node that is used',
      commands: commands(service),
    },
  ]
}

function internal(
  service: JsonObject,
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
): readonly ObjectFinding[] {
  if (stringAt(service, 'spec', 'internalTrafficPolicy') !== 'Local') return []
  const holders = nodesOfEndpoints(service, evidence)
  const pods = isInspected('service', service, inspected)
    ? evidence.all('pods')
    : evidence.podsIn(namespaceOf(service))
  const own = new Set(evidence.podsOf(service))
  const clients = pods.filter(
    (pod) => isPresent(pod) && !own.has(pod) && !holders.has(stringAt(pod, 'spec', 'nodeName')),
  )
  const nodes = [...new Set(clients.map((pod) => stringAt(pod, 'spec', 'nodeName')))]
  const without = nodes.filter((node) => node !== '').sort()
  if (without.length === 0) return []
  const first = clients.find((pod) => stringAt(pod, 'spec', 'nodeName') === without[0])
  return [
    {
      symptom: 'Service not reachable',
      cause: `internalTrafficPolicy is Local: on ${shortList(without, ' nodes')} it has no ready endpoint, and refuses the Pods there`,
      evidence: [
        ...endpointTexts(service, evidence),
        `pod/${keyOf(first ?? {})} runs on ${without[0]}`,
      ],
      remedy: 'set internalTrafficPolicy to Cluster, or run a Pod of it on each node (DaemonSet)',
      commands: commands(service),
    },
  ]
}

/** Whether clients use a node: it is ready, and may run ordinary Pods. */
function isServing(node: JsonObject): boolean {
  const labels = labelsOf(node)
  const isReady = stringAt(conditionOf(node, 'Ready'), 'status') === 'True'
  return isReady && NAMES.controlPlane.every((key) => labels[key] === undefined)
}

function nodesOfEndpoints(service: JsonObject, evidence: ClusterEvidence): ReadonlySet<string> {
  return new Set(evidence.readyEndpoints(service).map((one) => stringAt(one, 'nodeName')))
}

function endpointTexts(service: JsonObject, evidence: ClusterEvidence): readonly string[] {
  return evidence
    .readyEndpoints(service)
    .slice(0, SHOWN)
    .map((one) => {
      const node = stringAt(one, 'nodeName')
      const [address] = arrayAt(one, 'addresses').map(scalarText)
      return `endpoint ${address ?? ''} ${node === '' ? 'names no node' : `is on ${node}`}`
    })
}

function commands(service: JsonObject): readonly string[] {
  const namespace = namespaceOf(service)
  return [
    `orchctl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${nameOf(service)} -o yaml`,
    `orchctl -n ${namespace} edit service/${nameOf(service)}`,
  ]
}
