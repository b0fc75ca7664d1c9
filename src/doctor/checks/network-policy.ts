import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { isolating, matchesPort } from '../../networkpolicy/judge-connection.ts'
import {
  type NetworkPolicy,
  type PolicyPod,
  type PolicyRule,
  readPolicyPod,
} from '../../networkpolicy/network-policy.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import type { Protocol } from '../../resources/types.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { type Check, type Finding, sameOfServices } from '../evidence/finding.ts'
import { type InspectedObject, isInspected } from '../evidence/inspected-object.ts'
import { ClientJudge } from '../evidence/judge-clients.ts'
import { keyOf, nameOf, namespaceOf, targetNumber } from '../evidence/objects.ts'

/**
 * NetworkPolicies that select all Pods of a Service and admit no client to one of its ports. Policies that admit Pods
 * only, and so exclude clients outside of the cluster, are a finding only for the inspected Service.
 */
export const networkPolicy: Check = {
  name: 'network-policy',
  find: (evidence, inspected) => {
    if (!evidence.has('services', 'pods', 'networkpolicies')) return []
    const policies = evidence.all('networkpolicies').map(readPolicy)
    const judge = ClientJudge.isUseful(evidence) ? new ClientJudge(evidence) : undefined
    const byNamespace = Map.groupBy(policies, ({ namespace }) => namespace)
    const found = evidence.all('services').flatMap((service) => {
      const own = byNamespace.get(namespaceOf(service)) ?? []
      return own.length === 0 ? [] : findingOf(service, own, { evidence, inspected, judge })
    })
    return [...Map.groupBy(found, ({ object }) => object).values()].map(asOne)
  },
}

/** One policy is one finding, however many Services it keeps clients from. */
function asOne(findings: readonly Finding[]): Finding {
  const [first, ...more] = findings as readonly [Finding, ...Finding[]]
  if (more.length === 0) return first
  const services = findings.map(({ affects: [service = ''] }) => service.replace(/\/.*\//, '/'))
  return {
    ...first,
    affects: [...new Set(findings.flatMap(({ affects }) => affects))],
    evidence: [...first.evidence, sameOfServices(services)],
  }
}

interface Examined {
  readonly evidence: ClusterEvidence
  readonly inspected: InspectedObject | undefined
  /** Undefined: there are no ClusterNetworkPolicies, which may accept what no NetworkPolicy admits. */
  readonly judge: ClientJudge | undefined
}

function findingOf(
  service: JsonObject,
  policies: readonly NetworkPolicy[],
  { evidence, inspected, judge }: Examined,
): readonly Finding[] {
  const pods = evidence.podsOf(service)
  const isolated = pods.flatMap((pod) => isolatedBy(policies, pod) ?? [])
  const [first] = isolated
  if (first === undefined || isolated.length < pods.length) return []
  const isExternal = ['NodePort', 'LoadBalancer'].includes(stringAt(service, 'spec', 'type'))
  const isAccepted = (port: Json) =>
    judge?.attempts(service, port).some(({ decision }) => decision?.action === 'Accept')
  const isDenied = (port: Json, admits: (rule: PolicyRule) => boolean) =>
    isolated.every((one) =>
      one.selecting.every(({ rules }) =>
        rules.ingress?.every((rule) => !(admits(rule) && hasPort(rule, port, one))),
      ),
    ) && !isAccepted(port)
  const ports = arrayAt(service, 'spec', 'ports')
  const closed = ports.find((port) => isDenied(port, () => true))
  const closedOutside =
    isExternal && isInspected('service', service, inspected)
      ? ports.find((port) => isDenied(port, admitsAddresses))
      : undefined
  const port = closed ?? closedOutside
  if (port === undefined) return []
  const names = first.selecting.map(
    (policy) => `networkpolicy/${policy.key.slice(policy.namespace.length + 1)}`,
  )
  const who =
    closed === undefined ? 'Pods alone, and no addresses outside the cluster,' : 'no client'
  return [
    {
      check: networkPolicy.name,
      symptom: isExternal ? 'External access fails' : 'Service not reachable',
      object: `networkpolicy/${first.selecting[0]!.key}`,
      affects: [`service/${keyOf(service)}`, ...pods.map((pod) => `pod/${keyOf(pod)}`)],
      cause: `the policies that select the Pods of service/${nameOf(service)} admit ${who} to its port ${scalarText(valueAt(port, 'port'))}`,
      evidence: [
        `pod/${nameOf(first.pod)} is selected by ${names.join(', ')}`,
        `the port leads to port ${targetNumber(port, first.pod) ?? 'of an unknown name'} of the Pod`,
      ],
      remedy: 'add an ingress rule for the clients and this port of the Pod',
      commands: [
        `orchctl -n ${namespaceOf(service)} get networkpolicies -o yaml`,
        `orchctl -n ${namespaceOf(service)} edit ${names[0]}`,
      ],
    },
  ]
}

/** A Pod, with the policies that isolate it from clients; at least one. */
interface IsolatedPod {
  readonly pod: JsonObject
  readonly seen: PolicyPod
  readonly selecting: readonly NetworkPolicy[]
}

/** Undefined: no policy isolates the Pod from its clients. */
function isolatedBy(policies: readonly NetworkPolicy[], pod: JsonObject): IsolatedPod | undefined {
  const seen = readPolicyPod(pod, {})
  const selecting = seen === undefined ? [] : isolating(policies, seen, 'ingress')
  return seen === undefined || selecting.length === 0 ? undefined : { pod, seen, selecting }
}

function admitsAddresses({ peers }: PolicyRule): boolean {
  return peers === 'any' || peers.some(({ kind }) => kind === 'block')
}

/** Whether a rule is for the port of a Pod to which a port of a Service leads. */
function hasPort({ ports }: PolicyRule, port: Json, { pod, seen }: IsolatedPod): boolean {
  const number = targetNumber(port, pod)
  if (ports === 'any' || number === undefined) return true
  const protocol = (stringAt(port, 'protocol') || 'TCP') as Protocol
  const destination = { pod: seen }
  return ports.some((one) => matchesPort(one, { destination, protocol, port: number }))
}
