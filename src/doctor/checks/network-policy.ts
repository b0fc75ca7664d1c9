import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { selectsLabels } from '../../resources/selector/label-selector.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { type InspectedObject, isInspected } from '../evidence/inspected-object.ts'
import { keyOf, labelsOf, nameOf, namespaceOf } from '../evidence/objects.ts'
import { numberOfName, targetNumber } from '../evidence/pod-ports.ts'

/**
 * NetworkPolicies that select all Pods of a Service and admit no client to a port of it. That one admits Pods and
 * no addresses, which keeps clients outside away, is a finding of the inspected Service alone.
 */
export const networkPolicy: Check = {
  name: 'network-policy',
  find: (evidence, inspected) => {
    if (!evidence.has('services', 'pods', 'networkpolicies')) return []
    return evidence.all('services').flatMap((service) => findingOf(service, evidence, inspected))
  },
}

function findingOf(
  service: JsonObject,
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
): readonly Finding[] {
  const pods = evidence.podsOf(service)
  const policies = evidence
    .all('networkpolicies')
    .filter((policy) => namespaceOf(policy) === namespaceOf(service) && isOfIngress(policy))
  const selecting = (pod: JsonObject) =>
    policies.filter((one) =>
      selectsLabels(valueAt(one, 'spec', 'podSelector') ?? {}, labelsOf(pod)),
    )
  if (pods.length === 0 || pods.some((pod) => selecting(pod).length === 0)) return []
  const isExternal = ['NodePort', 'LoadBalancer'].includes(stringAt(service, 'spec', 'type'))
  const isDenied = (port: Json, admits: (rule: Json) => boolean) =>
    pods.every((pod) =>
      selecting(pod).every((policy) =>
        arrayAt(policy, 'spec', 'ingress').every(
          (rule) => !(admits(rule) && hasPort(rule, port, pod)),
        ),
      ),
    )
  const ports = arrayAt(service, 'spec', 'ports')
  const closed = ports.find((port) => isDenied(port, () => true))
  const closedOutside =
    isExternal && isInspected('service', service, inspected)
      ? ports.find((port) => isDenied(port, admitsAddresses))
      : undefined
  const port = closed ?? closedOutside
  if (port === undefined) return []
  const names = selecting(pods[0]!).map((policy) => `networkpolicy/${nameOf(policy)}`)
  const who =
    closed === undefined ? 'Pods alone, and no addresses outside the cluster,' : 'no client'
  return [
    {
      check: networkPolicy.name,
      symptom: isExternal ? 'External access fails' : 'Service not reachable',
      object: `networkpolicy/${keyOf(selecting(pods[0]!)[0]!)}`,
      affects: [`service/${keyOf(service)}`, ...pods.map((pod) => `pod/${keyOf(pod)}`)],
      cause: `the policies that select the Pods of service/${nameOf(service)} admit ${who} to its port ${scalarText(valueAt(port, 'port'))}`,
      evidence: [
        `pod/${nameOf(pods[0]!)} is selected by ${names.join(', ')}`,
        `the port leads to port ${targetNumber(port, pods[0]!) ?? 'of an unknown name'} of the Pod`,
      ],
      remedy: 'add an ingress rule for the clients and this port of the Pod',
      commands: [
        `orchctl -n ${namespaceOf(service)} get networkpolicies -o yaml`,
        `orchctl -n ${namespaceOf(service)} edit ${names[0]}`,
      ],
    },
  ]
}

/** `policyTypes` without a value has Ingress. */
function isOfIngress(policy: JsonObject): boolean {
  const types = arrayAt(policy, 'spec', 'policyTypes')
  return types.length === 0 || types.includes('Ingress')
}

function admitsAddresses(rule: Json): boolean {
  const peers = arrayAt(rule, 'from')
  return peers.length === 0 || peers.some((peer) => valueAt(peer, 'ipBlock') !== undefined)
}

/** Whether a rule is for the port of a Pod to which a port of a Service leads. */
function hasPort(rule: Json, port: Json, pod: JsonObject): boolean {
  const number = targetNumber(port, pod)
  const protocol = stringAt(port, 'protocol') || 'TCP'
  const ports = arrayAt(rule, 'ports')
  if (ports.length === 0 || number === undefined) return true
  return ports.some((one) => {
    const own = valueAt(one, 'port')
    const first = typeof own === 'string' ? numberOfName(own, pod) : own
    const last = valueAt(one, 'endPort') ?? first
    const isProtocol = (stringAt(one, 'protocol') || 'TCP') === protocol
    return isProtocol && (own === undefined || (Number(first) <= number && number <= Number(last)))
  })
}
