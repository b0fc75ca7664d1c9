import { hashName } from '../lib/hash.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { Json } from '../lib/json.ts'
import type { ClusterNetworkPolicy } from '../networkpolicy/cluster-network-policy.ts'
import type { Direction, NetworkPolicy } from '../networkpolicy/network-policy.ts'
import { labelMatcher } from '../resources/label-selector.ts'
import { isSameValue, present } from '../resources/reader.ts'
import { RuleWriter } from './chain-rules.ts'
import type { ClusterPod } from './cluster-pod.ts'
import {
  type ChainName,
  type ChainRule,
  HASH_LENGTH,
  type PodChain,
  type PodVerdict,
  type PolicyChain,
  type SetName,
} from './policy-content.ts'
import { deleteFrom, identityKey, type PolicySets } from './policy-sets.ts'
import { TierChains } from './tier-chains.ts'
import { Tracked } from './tracked.ts'

const DIRECTIONS: readonly Direction[] = ['ingress', 'egress']

/** A policy, or one that is gone and whose chains are still to be removed. */
interface KnownPolicy {
  readonly key: string
  policy: NetworkPolicy | undefined
  isSelected: (labels: Json) => boolean
  /** How many chains of Pods lead to its chains, and the sets that these need, each as often as rules name it. */
  readonly chains: Readonly<Record<Direction, { uses: number; sets: readonly SetName[] }>>
}

/** The Pods of this node that the same policies isolate: those of one namespace with the same labels. */
interface LocalGroup {
  readonly key: string
  readonly namespace: string
  readonly labels: Json
  readonly ips: Set<IpAddress>
  /** Those that select them. */
  readonly policies: Set<KnownPolicy>
  readonly verdicts: Record<Direction, PodVerdict>
}

/** Which policies a chain of Pods leads to, and how many groups need it. */
interface PodChainUse {
  readonly isolatedBy: readonly KnownPolicy[]
  uses: number
}

/**
 * The chains that the Pods of this node need, and which Pod needs which. Policies that select no Pod of this node have
 * no chain and need no set. A policy is compared once with all Pods of the same labels.
 */
export class PolicyChains {
  readonly policyChains = new Map<ChainName, PolicyChain>()
  readonly podChains = new Map<ChainName, PodChain>()
  readonly tiers: TierChains
  readonly verdicts = {
    ingress: new Map<IpAddress, PodVerdict>(),
    egress: new Map<IpAddress, PodVerdict>(),
  }
  readonly #sets: PolicySets
  readonly #podChainUses = new Map<ChainName, PodChainUse>()
  readonly #policies = new Map<string, KnownPolicy>()
  readonly #policiesOf = new Map<string, Set<KnownPolicy>>()
  /** Keys of policies that are gone, and perhaps back by now. */
  readonly #gone = new Set<string>()
  readonly #groups = new Map<string, LocalGroup>()
  readonly #groupsOf = new Map<string, Set<LocalGroup>>()
  readonly #groupAt = new Map<IpAddress, LocalGroup>()
  /** Groups whose verdicts do not follow yet from the policies that select them. */
  readonly #stale = new Set<LocalGroup>()
  readonly #chainsBefore = new Tracked<ChainName, PolicyChain | PodChain>(isSameChain)
  readonly #verdictsBefore = {
    ingress: new Tracked<IpAddress, PodVerdict>(),
    egress: new Tracked<IpAddress, PodVerdict>(),
  }

  constructor(sets: PolicySets) {
    this.#sets = sets
    this.tiers = new TierChains(sets)
  }

  /** Sets a ClusterNetworkPolicy; undefined if there is none with this name. To be settled. */
  setClusterPolicy(key: string, policy: ClusterNetworkPolicy | undefined): void {
    if (!this.tiers.setPolicy(key, policy)) return
    for (const group of this.#groups.values()) this.#stale.add(group)
  }

  /** The labels of a namespace may have changed. To be settled. */
  namespaceChanged(name: string): void {
    if (!this.tiers.hasPolicies) return
    for (const group of this.#groupsOf.get(name) ?? []) this.#stale.add(group)
  }

  /** Sets a policy; undefined if there is none with this key. To be settled. */
  setPolicy(key: string, policy: NetworkPolicy | undefined): void {
    const known = this.#policies.get(key) ?? newPolicy(key)
    const before = known.policy
    if (isSameValue(before, policy)) return
    known.policy = policy
    known.isSelected = policy === undefined ? () => false : labelMatcher(policy.podSelector)
    this.#policies.set(key, known)
    if (policy === undefined) this.#gone.add(key)
    if (before !== undefined) deleteFrom(this.#policiesOf, before.namespace, known)
    if (policy !== undefined) {
      this.#policiesOf.getOrInsertComputed(policy.namespace, () => new Set()).add(known)
    }
    for (const direction of DIRECTIONS) {
      if (known.chains[direction].uses > 0) this.#write(known, direction)
    }
    for (const namespace of new Set(present([before?.namespace, policy?.namespace]))) {
      for (const group of this.#groupsOf.get(namespace) ?? []) this.#compare(known, group)
    }
  }

  /** Gives an address to a Pod of this node, or (undefined) to none. To be settled. */
  setLocal(ip: IpAddress, pod: ClusterPod | undefined): void {
    const before = this.#groupAt.get(ip)
    const after = pod && this.#groupOf(pod)
    if (before === after) return
    before?.ips.delete(ip)
    if (before?.ips.size === 0) this.#stale.add(before)
    if (after === undefined) {
      this.#groupAt.delete(ip)
      for (const direction of DIRECTIONS) this.#setVerdict(direction, ip, undefined)
    } else {
      this.#groupAt.set(ip, after)
      after.ips.add(ip)
      if (after.ips.size === 1) this.#stale.add(after)
      for (const one of DIRECTIONS) this.#setVerdict(one, ip, after.verdicts[one])
    }
  }

  /** Brings verdicts and chains up to date. */
  settle(): void {
    const released: PodVerdict[] = []
    for (const group of this.#stale) {
      for (const direction of DIRECTIONS) {
        const after = group.ips.size === 0 ? 'accept' : this.#verdictOf(group, direction)
        const before = group.verdicts[direction]
        if (before === after) continue
        this.#use(after)
        released.push(before)
        group.verdicts[direction] = after
        for (const ip of group.ips) this.#setVerdict(direction, ip, after)
      }
      if (group.ips.size === 0) {
        this.#groups.delete(group.key)
        deleteFrom(this.#groupsOf, group.namespace, group)
      }
    }
    this.#stale.clear()
    for (const verdict of released) this.#release(verdict)
    this.tiers.settle()
    for (const key of this.#gone) {
      if (this.#policies.get(key)?.policy === undefined) this.#policies.delete(key)
    }
    this.#gone.clear()
  }

  /** What is different since this was last called, with what was there before. */
  takeChanges() {
    const chainNow = (name: ChainName) => this.policyChains.get(name) ?? this.podChains.get(name)
    const chains = this.#chainsBefore.take(chainNow)
    const ingress = this.#verdictsBefore.ingress.take((ip) => this.verdicts.ingress.get(ip))
    const egress = this.#verdictsBefore.egress.take((ip) => this.verdicts.egress.get(ip))
    const ofTiers = this.tiers.takeChanges()
    const podChainOf = (name: PodVerdict | undefined): PodChain | undefined => {
      const chain = chains.get(name as ChainName) ?? this.podChains.get(name as ChainName)
      return chain !== undefined && 'policies' in chain ? chain : undefined
    }
    const isPodNarrower = (before: PodVerdict | undefined, after: PodVerdict | undefined) => {
      if (after === undefined || after === 'accept') return false
      if (before === undefined || before === 'accept') return true
      return isPodChainNarrower(podChainOf(before), podChainOf(after))
    }
    const isNarrower =
      ofTiers.isNarrower ||
      [...chains].some(([name, before]) => isChainNarrower(before, this.policyChains.get(name))) ||
      [...ingress].some(([ip, held]) => isPodNarrower(held, this.verdicts.ingress.get(ip))) ||
      [...egress].some(([ip, held]) => isPodNarrower(held, this.verdicts.egress.get(ip)))
    return {
      chains: new Set([...chains.keys(), ...ofTiers.chains]),
      pods: { ingress: new Set(ingress.keys()), egress: new Set(egress.keys()) },
      isNarrower,
    }
  }

  #groupOf(pod: ClusterPod): LocalGroup {
    const { namespace, labels } = pod
    const key = identityKey(pod)
    const known = this.#groups.get(key)
    if (known !== undefined) return known
    const made: LocalGroup = {
      key,
      namespace,
      labels,
      ips: new Set(),
      policies: new Set(),
      verdicts: { ingress: 'accept', egress: 'accept' },
    }
    this.#groups.set(key, made)
    this.#groupsOf.getOrInsertComputed(namespace, () => new Set()).add(made)
    for (const known of this.#policiesOf.get(namespace) ?? []) this.#compare(known, made)
    return made
  }

  #compare(known: KnownPolicy, group: LocalGroup): void {
    const isOfNamespace = known.policy?.namespace === group.namespace
    const isSelected = isOfNamespace && known.isSelected(group.labels)
    if (isSelected || group.policies.has(known)) this.#stale.add(group)
    if (isSelected) group.policies.add(known)
    else group.policies.delete(known)
  }

  #verdictOf({ policies, labels, namespace }: LocalGroup, direction: Direction): PodVerdict {
    const namespaceLabels = this.#sets.namespaceLabels(namespace)
    const ofTiers = this.tiers.select(direction, labels, namespaceLabels)
    if (ofTiers === 'unknown') return 'drop'
    const isolatedBy = [...policies]
      .filter(({ policy }) => policy?.rules[direction] !== undefined)
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const isIsolated = isolatedBy.length > 0
    const admin = this.tiers.need(direction, 'Admin', ofTiers.admin)
    const below = isIsolated ? [] : ofTiers.baseline
    const baseline = this.tiers.need(direction, 'Baseline', below)
    const chains = isolatedBy.map(({ key }) => policyChainName(direction, key))
    const named = present([admin, ...chains, baseline])
    if (named.length === 0) return 'accept'
    const name = `${direction}-pods-${hashName(named.join(' '), HASH_LENGTH)}` as ChainName
    if (this.podChains.has(name)) {
      // The chain of Pods that is there needs them already.
      this.tiers.release(admin)
      this.tiers.release(baseline)
      return name
    }
    for (const one of isolatedBy) {
      one.chains[direction].uses += 1
      if (one.chains[direction].uses === 1) this.#write(one, direction)
    }
    this.#chainsBefore.note(name, undefined)
    this.podChains.set(name, { direction, admin, policies: chains, baseline })
    this.#podChainUses.set(name, { isolatedBy, uses: 0 })
    return name
  }

  #use(verdict: PodVerdict): void {
    const use = this.#podChainUses.get(verdict as ChainName)
    if (use !== undefined) use.uses += 1
  }

  #release(verdict: PodVerdict): void {
    if (verdict === 'accept' || verdict === 'drop') return
    const [chain, use] = [this.podChains.get(verdict), this.#podChainUses.get(verdict)]
    if (chain === undefined || use === undefined) return
    use.uses -= 1
    if (use.uses > 0) return
    this.#chainsBefore.note(verdict, chain)
    this.podChains.delete(verdict)
    this.#podChainUses.delete(verdict)
    this.tiers.release(chain.admin)
    this.tiers.release(chain.baseline)
    for (const one of use.isolatedBy) {
      one.chains[chain.direction].uses -= 1
      if (one.chains[chain.direction].uses === 0) this.#write(one, chain.direction)
    }
  }

  /** Writes the chain of a policy as it is now, with the sets that it needs; removes it if no Pod needs it. */
  #write(known: KnownPolicy, direction: Direction): void {
    const name = policyChainName(direction, known.key)
    const chain = known.chains[direction]
    const { policy } = known
    const rules = chain.uses === 0 ? undefined : policy?.rules[direction]
    const before = chain.sets
    this.#chainsBefore.note(name, this.policyChains.get(name))
    const writer = new RuleWriter(this.#sets)
    if (policy === undefined || rules === undefined) this.policyChains.delete(name)
    else {
      const written = rules.flatMap((rule) => writer.write(rule, policy.namespace))
      this.policyChains.set(name, { direction, policy: policy.key, rules: written })
    }
    chain.sets = writer.needed
    for (const set of before) this.#sets.release(set)
  }

  #setVerdict(direction: Direction, ip: IpAddress, verdict: PodVerdict | undefined): void {
    const before = this.verdicts[direction].get(ip)
    if (before === verdict) return
    this.#verdictsBefore[direction].note(ip, before)
    if (verdict === undefined) this.verdicts[direction].delete(ip)
    else this.verdicts[direction].set(ip, verdict)
  }
}

function newPolicy(key: string): KnownPolicy {
  const unused = () => ({ uses: 0, sets: [] })
  const chains = { ingress: unused(), egress: unused() }
  return { key, policy: undefined, isSelected: () => false, chains }
}

function policyChainName(direction: Direction, policy: string): ChainName {
  return `${direction}-${hashName(policy, HASH_LENGTH)}` as ChainName
}

function isSameChain(a: PolicyChain | PodChain, b: PolicyChain | PodChain): boolean {
  return 'rules' in a && 'rules' in b
    ? isSameValue(a.rules, b.rules)
    : 'rules' in a === 'rules' in b
}

/** Whether Pods may be admitted less than before; undefined: nothing is admitted, until the namespace is known. */
function isPodChainNarrower(before: PodChain | undefined, after: PodChain | undefined): boolean {
  if (before === undefined || after === undefined) return before !== undefined
  if (before.admin !== after.admin || before.baseline !== after.baseline) return true
  if (before.policies.length === 0) return after.policies.length > 0
  const now = new Set(after.policies)
  return !before.policies.every((one) => now.has(one))
}

/**
 * Whether a policy may admit less than before. A chain that appears or vanishes does so together with the chains of
 * Pods that lead to it.
 */
function isChainNarrower(
  before: PolicyChain | PodChain | undefined,
  after: PolicyChain | undefined,
): boolean {
  if (before === undefined || !('rules' in before) || after === undefined) return false
  return !before.rules.every((one) => after.rules.some((other) => includes(other, one)))
}

/** Whether a rule admits all that another one admits; false where that follows from more than equal parts. */
function includes({ peers, ports }: ChainRule, other: ChainRule): boolean {
  if (peers !== 'any' && peers !== other.peers) return false
  if (ports === 'any') return true
  return other.ports !== 'any' && other.ports.every((one) => ports.some((m) => isSameValue(m, one)))
}
