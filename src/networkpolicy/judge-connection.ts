import { cidrContains, type IpAddress } from '../lib/ip.ts'
import type { Json } from '../lib/json.ts'
import { selectsLabels } from '../resources/label-selector.ts'
import type { Protocol } from '../resources/types.ts'
import { type ClusterNetworkPolicy, inPrecedence, type Tier } from './cluster-network-policy.ts'
import type {
  Direction,
  NetworkPolicy,
  PolicyPeer,
  PolicyPod,
  PolicyPort,
  PolicyRule,
} from './network-policy.ts'

/** One end of a connection, as the other end sees it. */
export interface ConnectionEnd {
  readonly ip: IpAddress
  /** Undefined if it is not a Pod, or a Pod on the network of its node. */
  readonly pod: PolicyPod | undefined
  /** The node that the Pod runs on, or that has the address; undefined if there is no such node or it is unknown. */
  readonly node: string | undefined
}

/** A connection as it reaches its backend: after destination NAT. */
export interface PolicyConnection {
  readonly source: ConnectionEnd
  readonly destination: ConnectionEnd
  readonly protocol: Protocol
  /** The port of the destination. */
  readonly port: number
}

/** The first rule that admits a connection. */
export interface Admission {
  /** `namespace/name` */
  readonly policy: string
  /** Its index among the rules of the direction. */
  readonly rule: number
  /**
   * Whether the rule admits it only by a block that contains the address of a Pod: some implementations do not compare
   * blocks with Pods.
   */
  readonly isByPodAddress?: true
}

/** The rule of a ClusterNetworkPolicy that decides about a connection. */
export interface TierDecision {
  readonly tier: Tier
  /** The name of the policy. */
  readonly policy: string
  /** Its index among the rules of the direction. */
  readonly rule: number
  /** Of the rule; empty if it has none. */
  readonly name: string
  readonly action: 'Accept' | 'Deny'
}

/** A policy of either kind. */
export type AnyPolicy = NetworkPolicy | ClusterNetworkPolicy

/** The decision of the policies that select one end of a connection. */
export interface EndJudgement {
  readonly direction: Direction
  /** `namespace/name` of the Pod. */
  readonly pod: string
  /** `namespace/name` of the policies that isolate the Pod in this direction, sorted; empty if it is not isolated. */
  readonly policies: readonly string[]
  /** Names of the ClusterNetworkPolicies with rules for the Pod in this direction, in the order in which they are judged. */
  readonly clusterPolicies: readonly string[]
  readonly isAdmitted: boolean
  /** The rule of a ClusterNetworkPolicy that decides; absent if the NetworkPolicies do, or nothing. */
  readonly decidedBy?: TierDecision
  /** The rule that admits the connection; absent if no rule does, or none is needed. */
  readonly admittedBy?: Admission
  /** Why no policy is needed: a Pod reaches itself, and a node and its own Pods reach each other. */
  readonly exempt?: 'itself' | 'ownNode'
}

/** The decision of NetworkPolicies about a connection. */
export interface ConnectionJudgement {
  readonly isAdmitted: boolean
  /** Undefined if the source is not a Pod that policies apply to. */
  readonly egress: EndJudgement | undefined
  /** Undefined if the destination is not a Pod that policies apply to. */
  readonly ingress: EndJudgement | undefined
}

/**
 * Judges a connection: the policies of the source, for egress, and those of the destination, for ingress, must both admit
 * it. The tier Admin is judged first, then the NetworkPolicies, then, if none of them isolates the Pod, the tier
 * Baseline; what nothing decides is admitted. Replies are always admitted.
 */
export function judgeConnection(
  policies: readonly AnyPolicy[],
  connection: PolicyConnection,
): ConnectionJudgement {
  const egress = judgeEnd(policies, connection, 'egress')
  const ingress = judgeEnd(policies, connection, 'ingress')
  const isAdmitted = egress?.isAdmitted !== false && ingress?.isAdmitted !== false
  return { isAdmitted, egress, ingress }
}

/** Judges one end; undefined if it is not a Pod that policies apply to. */
export function judgeEnd(
  policies: readonly AnyPolicy[],
  connection: PolicyConnection,
  direction: Direction,
): EndJudgement | undefined {
  const { source, destination } = connection
  const [own, peer] = direction === 'egress' ? [source, destination] : [destination, source]
  if (own.pod === undefined) return undefined
  const { networkPolicies, admin, baseline } = selecting(policies, own.pod, direction)
  const found = {
    direction,
    pod: own.pod.key,
    policies: networkPolicies.map(({ key }) => key),
    clusterPolicies: [...admin, ...baseline].map(({ key }) => key),
  }
  if (found.policies.length + found.clusterPolicies.length === 0) {
    return { ...found, isAdmitted: true }
  }
  const exempt = exemptionOf(own, peer)
  if (exempt !== undefined) return { ...found, isAdmitted: true, exempt }
  const attempt = { ...connection, peer, hasBlocks: true }
  const isIsolated = networkPolicies.length > 0
  const decidedBy =
    decision(admin, direction, attempt) ??
    (isIsolated ? undefined : decision(baseline, direction, attempt))
  if (decidedBy) return { ...found, isAdmitted: decidedBy.action === 'Accept', decidedBy }
  if (!isIsolated) return { ...found, isAdmitted: true }
  const asPod = admission(networkPolicies, direction, { ...attempt, hasBlocks: false })
  if (asPod !== undefined) return { ...found, isAdmitted: true, admittedBy: asPod }
  const any = admission(networkPolicies, direction, attempt)
  if (any === undefined) return { ...found, isAdmitted: false }
  const admittedBy = peer.pod === undefined ? any : { ...any, isByPodAddress: true as const }
  return { ...found, isAdmitted: true, admittedBy }
}

/** The policies that a Pod is judged by in a direction, each kind in its order. */
function selecting(policies: readonly AnyPolicy[], pod: PolicyPod, direction: Direction) {
  const ofTier = (tier: Tier) =>
    inPrecedence(
      policies.filter(
        (one): one is ClusterNetworkPolicy =>
          'tier' in one &&
          one.tier === tier &&
          one.rules[direction].length > 0 &&
          isSubject(one, pod),
      ),
    )
  return {
    networkPolicies: isolating(
      policies.filter((one): one is NetworkPolicy => !('tier' in one)),
      pod,
      direction,
    ),
    admin: ofTier('Admin'),
    baseline: ofTier('Baseline'),
  }
}

function isSubject({ subject }: ClusterNetworkPolicy, pod: PolicyPod): boolean {
  return (
    subject !== undefined &&
    selectsLabels(subject.podSelector, pod.labels) &&
    selectsLabels(subject.namespaceSelector, pod.namespaceLabels)
  )
}

/** What the first matching rule of a tier decides; undefined if none matches, or it passes the connection on. */
function decision(
  policies: readonly ClusterNetworkPolicy[],
  direction: Direction,
  attempt: Attempt,
): TierDecision | undefined {
  for (const { key, tier, rules } of policies) {
    const index = rules[direction].findIndex((one) => matches('', one, attempt))
    const rule = rules[direction][index]
    if (rule === undefined) continue
    const { name, action } = rule
    return action === 'Pass' ? undefined : { tier, policy: key, rule: index, name, action }
  }
  return undefined
}

interface Attempt extends PolicyConnection {
  readonly peer: ConnectionEnd
  /** Whether blocks are compared with the peer. */
  readonly hasBlocks: boolean
}

function admission(
  policies: readonly NetworkPolicy[],
  direction: Direction,
  attempt: Attempt,
): Admission | undefined {
  for (const policy of policies) {
    const rules = policy.rules[direction] ?? []
    const rule = rules.findIndex((one) => matches(policy.namespace, one, attempt))
    if (rule >= 0) return { policy: policy.key, rule }
  }
  return undefined
}

/** The policies that isolate a Pod in a direction, sorted by name. */
export function isolating(
  policies: readonly NetworkPolicy[],
  pod: PolicyPod,
  direction: Direction,
): readonly NetworkPolicy[] {
  return policies
    .filter(
      ({ namespace, rules, podSelector }) =>
        namespace === pod.namespace &&
        rules[direction] !== undefined &&
        selectsLabels(podSelector, pod.labels),
    )
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
}

function exemptionOf(own: ConnectionEnd, peer: ConnectionEnd): EndJudgement['exempt'] {
  if (own.ip === peer.ip) return 'itself'
  const isOnNode = peer.pod === undefined && own.node !== undefined && own.node === peer.node
  return isOnNode ? 'ownNode' : undefined
}

/** Whether a rule is about a connection; `namespace`: where peers are without a namespace selector. */
function matches(namespace: string, { peers, ports }: PolicyRule, attempt: Attempt): boolean {
  const { peer, hasBlocks } = attempt
  const isPeer = (one: PolicyPeer) =>
    (hasBlocks || one.kind === 'pods') && matchesPeer(namespace, one, peer)
  return (
    (peers === 'any' || peers.some(isPeer)) &&
    (ports === 'any' || ports.some((one) => matchesPort(one, attempt)))
  )
}

/**
 * Whether an end of a connection is a peer of a rule. A block is compared with the address of any end, including Pods:
 * the API does not exclude them, although its authors recommend blocks for addresses outside of the cluster.
 */
function matchesPeer(namespace: string, peer: PolicyPeer, { ip, pod }: ConnectionEnd): boolean {
  if (peer.kind === 'block') {
    return cidrContains(peer.cidr, ip) && !peer.except.some((one) => cidrContains(one, ip))
  }
  if (pod === undefined) return false
  const isOfNamespace =
    peer.namespaceSelector === undefined
      ? pod.namespace === namespace
      : selectsLabels(peer.namespaceSelector, pod.namespaceLabels)
  return isOfNamespace && isSelected(peer.podSelector, pod.labels)
}

function isSelected(selector: Json | undefined, labels: Json): boolean {
  return selector === undefined || selectsLabels(selector, labels)
}

/** The properties of a connection that ports are compared with. */
interface PortConnection extends Pick<PolicyConnection, 'protocol' | 'port'> {
  readonly destination: Pick<ConnectionEnd, 'pod'>
}

/**
 * Whether a connection goes to a port of a rule. A name is that of a container port of the destination Pod, in both
 * directions; an address without a Pod has no names.
 */
export function matchesPort(
  wanted: PolicyPort,
  { destination, protocol, port }: PortConnection,
): boolean {
  if (wanted.protocol !== protocol) return false
  const range = wanted.port
  if (range === undefined) return true
  if (typeof range !== 'string') return range.first <= port && port <= range.last
  const named = destination.pod?.namedPorts ?? []
  return named.some((one) => one.name === range && one.protocol === protocol && one.port === port)
}
