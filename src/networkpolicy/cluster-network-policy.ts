import type { Json } from '../lib/json.ts'
import type { Direction, PolicyRule } from './network-policy.ts'

/** Admin is judged before the NetworkPolicies, Baseline where no NetworkPolicy isolates the Pod. */
export type Tier = 'Admin' | 'Baseline'

/** `Pass`: the rest of the tier is skipped. */
export type RuleAction = 'Accept' | 'Deny' | 'Pass'

/** A ClusterNetworkPolicy: the rules of an administrator for Pods of any namespace. */
export interface ClusterNetworkPolicy {
  /** Its name. */
  readonly key: string
  readonly tier: Tier
  /** 0 to 1000; the lower one is judged first. */
  readonly priority: number
  /** Undefined if it cannot be read: then it applies to no Pod. */
  readonly subject: ClusterPolicySubject | undefined
  /** In their order; without rules of a direction it decides nothing in that direction. */
  readonly rules: Readonly<Record<Direction, readonly ClusterPolicyRule[]>>
}

/** Label selectors; a Pod must be selected by both, the first by the labels of its namespace. */
export interface ClusterPolicySubject {
  readonly namespaceSelector: Json
  readonly podSelector: Json
}

/** The first rule that matches a connection decides. */
export interface ClusterPolicyRule extends PolicyRule {
  /** Empty if it has none. */
  readonly name: string
  readonly action: RuleAction
}

/** The policies of a tier, in the order in which they are judged: by priority, and equal ones by name. */
export function inPrecedence<T extends Pick<ClusterNetworkPolicy, 'key' | 'priority'>>(
  policies: readonly T[],
): readonly T[] {
  return policies.toSorted((a, b) => a.priority - b.priority || (a.key < b.key ? -1 : 1))
}
