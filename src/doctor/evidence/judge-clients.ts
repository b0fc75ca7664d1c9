import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import {
  type AnyPolicy,
  type EndJudgement,
  judgeConnection,
  type PolicyConnection,
  type TierDecision,
} from '../../networkpolicy/judge-connection.ts'
import {
  type NetworkPolicy,
  type PolicyPod,
  type PolicyRule,
  readPolicyPod,
} from '../../networkpolicy/network-policy.ts'
import {
  type ReadClusterPolicy,
  readClusterPolicy,
} from '../../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import type { Protocol } from '../../resources/types.ts'
import type { ClusterEvidence } from './cluster-evidence.ts'
import { isPresent, nameOf, namespaceOf, targetNumber } from './objects.ts'

/** Stand for the addresses of Pods that have none yet (RFC 5737). */
const CLIENT = '203.0.113.1' as IpAddress
const BACKEND = '203.0.113.2' as IpAddress

/** The most imagined Pods, so that a cluster with many namespaces is judged in seconds. */
const MAX_IMAGINED = 1_000

/** Pods that policies do not distinguish. */
interface Client {
  /** `namespace/name` of each; empty: no Pod has these labels, but one could. */
  readonly members: readonly string[]
  readonly seen: PolicyPod
  readonly ip: IpAddress
}

interface Backend {
  readonly pod: JsonObject
  readonly seen: PolicyPod
}

/** A connection of Pods to a Pod of a Service. */
export interface Attempt {
  /** `namespace/name` of the Pods; empty: no Pod has these labels, but one could. */
  readonly clients: readonly string[]
  readonly backend: JsonObject
  /** The number of the Pod's port. */
  readonly port: number
  readonly isAdmitted: boolean
  /** The rule of a ClusterNetworkPolicy that decides, and for which end; undefined: none does. */
  readonly decision: Decision | undefined
  /** Judges the same connection by other policies. */
  readonly judgedBy: (policies: (one: AnyPolicy) => AnyPolicy | undefined) => AttemptJudgement
}

export interface Decision extends TierDecision {
  readonly direction: EndJudgement['direction']
}

interface AttemptJudgement extends Pick<Attempt, 'isAdmitted' | 'decision'> {
  /** The NetworkPolicy whose rule admits the connection; undefined: none is needed, or none admits. */
  readonly admittedBy: string | undefined
}

/**
 * The policies of a cluster, and whom they admit to a Service. Clients are the Pods that were read, and of each
 * namespace a Pod without labels and ones with the labels that rules name, since such Pods may be started.
 */
export class ClientJudge {
  readonly clusterPolicies: readonly ReadClusterPolicy[]
  readonly #networkPolicies: ReadonlyMap<string, readonly NetworkPolicy[]>
  readonly #namespaces: ReadonlyMap<string, JsonObject>
  readonly #clients: readonly Client[]
  /** Whether a rule has a block of addresses, so that policies distinguish Pods by their addresses. */
  readonly #isByAddress: boolean
  readonly #evidence: ClusterEvidence

  constructor(evidence: ClusterEvidence) {
    this.#evidence = evidence
    this.clusterPolicies = evidence.all('clusternetworkpolicies').map(readClusterPolicy)
    const policies = evidence.all('networkpolicies').map(readPolicy)
    this.#networkPolicies = Map.groupBy(policies, ({ namespace }) => namespace)
    this.#namespaces = new Map(
      evidence
        .all('namespaces')
        .map((one) => [nameOf(one), objectAt(one, 'metadata', 'labels')] as const),
    )
    this.#isByAddress = this.#policiesOf(...this.#networkPolicies.keys()).some(({ rules }) =>
      Object.values(rules).flat().some(hasBlock),
    )
    this.#clients = this.clusterPolicies.length === 0 ? [] : this.#presentClients()
  }

  /** Whether the kinds were read that decide what ClusterNetworkPolicies admit, and there are some. */
  static isUseful(evidence: ClusterEvidence): boolean {
    const needed = ['services', 'pods', 'namespaces', 'networkpolicies'] as const
    return evidence.has(...needed) && evidence.all('clusternetworkpolicies').length > 0
  }

  /** The connections to a port of a Service; none if a Pod of it is on the network of its node, so no policy's. */
  *attempts(service: JsonObject, port: Json): Generator<Attempt> {
    const pods = this.#evidence.podsOf(service)
    const backends = pods.flatMap((pod) => {
      const seen = this.#seen(pod)
      return seen === undefined ? [] : [{ pod, seen }]
    })
    if (backends.length < pods.length) return
    for (const { pod, seen } of this.#distinct(backends)) {
      const number = targetNumber(port, pod)
      if (number === undefined) continue
      const destination = { ip: addressOf(pod) ?? BACKEND, pod: seen, node: undefined }
      const protocol = (stringAt(port, 'protocol') || 'TCP') as Protocol
      for (const client of this.#allClients(namespaceOf(service))) {
        const others = client.members.filter((key) => key !== seen.key)
        if (client.members.length > 0 && others.length === 0) continue
        const ip = client.ip === destination.ip ? CLIENT : client.ip
        const source = { ip, pod: client.seen, node: undefined }
        const policies = this.#policiesOf(client.seen.namespace, seen.namespace)
        const judgedBy: Attempt['judgedBy'] = (change) => {
          const changed = policies.flatMap((one) => change(one) ?? [])
          return judged(changed, { source, destination, protocol, port: number })
        }
        const { isAdmitted, decision } = judgedBy((one) => one)
        yield { clients: others, backend: pod, port: number, isAdmitted, decision, judgedBy }
      }
    }
  }

  #policiesOf(...namespaces: readonly string[]): readonly AnyPolicy[] {
    const networkPolicies = [...new Set(namespaces)].flatMap(
      (name) => this.#networkPolicies.get(name) ?? [],
    )
    return [...this.clusterPolicies.map(({ policy }) => policy), ...networkPolicies]
  }

  #seen(pod: JsonObject): PolicyPod | undefined {
    return readPolicyPod(pod, this.#namespaces.get(namespaceOf(pod)) ?? {})
  }

  /** One of those that policies do not distinguish. */
  #distinct(backends: readonly Backend[]): Iterable<Backend> {
    const kindOf = ({ pod, seen }: Backend) =>
      JSON.stringify([seen.labels, seen.namedPorts, this.#isByAddress && addressOf(pod)])
    return new Map(backends.map((one) => [kindOf(one), one])).values()
  }

  #presentClients(): readonly Client[] {
    const found = this.#evidence
      .all('pods')
      .filter(isPresent)
      .flatMap((pod) => {
        const seen = this.#seen(pod)
        return seen === undefined ? [] : [{ seen, ip: addressOf(pod) ?? CLIENT }]
      })
    const groups = Map.groupBy(found, ({ seen, ip }) =>
      JSON.stringify([seen.namespace, seen.labels, this.#isByAddress && ip]),
    )
    return [...groups.values()].flatMap((group) => {
      const members = group.map(({ seen }) => seen.key)
      return group.slice(0, 1).map((one) => ({ ...one, members }))
    })
  }

  /** Pods that could be started: with the labels that rules about Pods of this namespace name. */
  *#imagined(namespace: string): Generator<Client> {
    const rules = this.#policiesOf(namespace).flatMap((one) => Object.values(one.rules).flat())
    const named = rules.flatMap(labelsOfPeers).map((labels) => JSON.stringify(labels))
    for (const text of new Set(['{}', ...named])) {
      const labels = JSON.parse(text) as JsonObject
      for (const [name, namespaceLabels] of this.#namespaces) {
        const seen = { key: `${name}/`, namespace: name, labels, namespaceLabels, namedPorts: [] }
        yield { members: [], seen, ip: CLIENT }
      }
    }
  }

  *#allClients(namespace: string): Generator<Client> {
    for (const client of this.#clients) yield client
    yield* this.#imagined(namespace).take(MAX_IMAGINED)
  }
}

function judged(policies: readonly AnyPolicy[], connection: PolicyConnection): AttemptJudgement {
  const { egress, ingress, isAdmitted } = judgeConnection(policies, connection)
  const end = egress?.isAdmitted === false ? egress : ingress
  const decision = end?.decidedBy && { ...end.decidedBy, direction: end.direction }
  return { isAdmitted, decision, admittedBy: end?.admittedBy?.policy }
}

function hasBlock({ peers }: PolicyRule): boolean {
  return peers !== 'any' && peers.some(({ kind }) => kind === 'block')
}

function labelsOfPeers({ peers }: PolicyRule): readonly JsonObject[] {
  if (peers === 'any') return []
  return peers.flatMap((peer) =>
    peer.kind === 'pods'
      ? [objectAt({ selector: peer.podSelector ?? {} }, 'selector', 'matchLabels')]
      : [],
  )
}

function addressOf(pod: JsonObject): IpAddress | undefined {
  return parseIp(stringAt(pod, 'status', 'podIP'))
}
