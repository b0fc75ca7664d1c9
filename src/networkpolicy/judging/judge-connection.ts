import { selectsLabels } from '../../resources/selector/label-selector.ts'
import type { Direction, NetworkPolicy, PolicyPeer, PolicyRule } from '../objects/network-policy.ts'
import type { PolicyPod } from '../objects/policy-pod.ts'
import type { ConnectionEnd, PolicyConnection } from './connection.ts'
import { matchesPeer } from './matches-peer.ts'
import { matchesPort } from './matches-port.ts'

/** The first rule that admits a connection. */
export interface Admission {
  /** `namespace/name` */
  readonly policy: string
  /** Its index among the rules of the direction. */
  readonly rule: number
  /** Only blocks admit it, which have the address of a Pod: some implementations compare blocks with no Pods. */
  readonly isByPodAddress?: true
}

/** What the NetworkPolicies that select one end of a connection say of it. */
export interface EndJudgement {
  readonly direction: Direction
  /** `namespace/name` of the Pod. */
  readonly pod: string
  /** `namespace/name` of the policies that isolate the Pod in this direction, sorted; empty: none does. */
  readonly policies: readonly string[]
  readonly isAdmitted: boolean
  /** The rule that admits it; absent: none does, or none is needed. */
  readonly admittedBy?: Admission
  /** Why no policy is needed: a Pod reaches itself, and a node and its own Pods reach each other. */
  readonly exempt?: 'itself' | 'ownNode'
}

/** What NetworkPolicies say of a connection. */
export interface ConnectionJudgement {
  readonly isAdmitted: boolean
  /** Undefined: the source is no Pod that policies see. */
  readonly egress: EndJudgement | undefined
  /** Undefined: the destination is none. */
  readonly ingress: EndJudgement | undefined
}

/**
 * Judges a connection by NetworkPolicies: both the policies of the source, for egress, and those of the destination, for
 * ingress, must admit it. A Pod that no policy of a direction selects is not isolated in it. Replies need no admission.
 */
export function judgeConnection(
  policies: readonly NetworkPolicy[],
  connection: PolicyConnection,
): ConnectionJudgement {
  const egress = judgeEnd(policies, connection, 'egress')
  const ingress = judgeEnd(policies, connection, 'ingress')
  const isAdmitted = egress?.isAdmitted !== false && ingress?.isAdmitted !== false
  return { isAdmitted, egress, ingress }
}

/** Judges one end alone; undefined: it is no Pod that policies see. */
export function judgeEnd(
  policies: readonly NetworkPolicy[],
  connection: PolicyConnection,
  direction: Direction,
): EndJudgement | undefined {
  const { source, destination } = connection
  const [own, peer] = direction === 'egress' ? [source, destination] : [destination, source]
  if (own.pod === undefined) return undefined
  const selecting = isolating(policies, own.pod, direction)
  const found = { direction, pod: own.pod.key, policies: selecting.map(({ key }) => key) }
  if (selecting.length === 0) return { ...found, isAdmitted: true }
  const exempt = exemptionOf(own, peer)
  if (exempt !== undefined) return { ...found, isAdmitted: true, exempt }
  const asPod = admission(selecting, direction, { ...connection, peer, hasBlocks: false })
  if (asPod !== undefined) return { ...found, isAdmitted: true, admittedBy: asPod }
  const any = admission(selecting, direction, { ...connection, peer, hasBlocks: true })
  if (any === undefined) return { ...found, isAdmitted: false }
  const admittedBy = peer.pod === undefined ? any : { ...any, isByPodAddress: true as const }
  return { ...found, isAdmitted: true, admittedBy }
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
    const rule = rules.findIndex((one) => admits(policy, one, attempt))
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

function admits(policy: NetworkPolicy, { peers, ports }: PolicyRule, attempt: Attempt): boolean {
  const { peer, hasBlocks } = attempt
  const isPeer = (one: PolicyPeer) =>
    (hasBlocks || one.kind === 'pods') && matchesPeer(policy, one, peer)
  return (
    (peers === 'any' || peers.some(isPeer)) &&
    (ports === 'any' || ports.some((one) => matchesPort(one, attempt)))
  )
}
