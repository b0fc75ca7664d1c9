import { hashName } from '../lib/hash.ts'
import type { Json } from '../lib/json.ts'
import {
  type ClusterNetworkPolicy,
  inPrecedence,
  type Tier,
} from '../networkpolicy/cluster-network-policy.ts'
import type { Direction } from '../networkpolicy/network-policy.ts'
import { labelMatcher } from '../resources/label-selector.ts'
import { isSameValue } from '../resources/reader.ts'
import { RuleWriter } from './chain-rules.ts'
import {
  type ChainName,
  type DenyChain,
  HASH_LENGTH,
  type SetName,
  type TierChain,
  type TierRule,
} from './policy-content.ts'
import type { PolicySets } from './policy-sets.ts'
import { Tracked } from './tracked.ts'

/** A policy whose subject can be read. */
interface KnownClusterPolicy {
  readonly policy: ClusterNetworkPolicy
  readonly isPod: (labels: Json) => boolean
  readonly isNamespace: (labels: Json) => boolean
}

/** The policies of the tiers that a Pod is a subject of, in one direction, in the order in which they are judged. */
export interface TierPolicies {
  readonly admin: readonly string[]
  readonly baseline: readonly string[]
}

/** What a chain of a tier needs, and how many chains of Pods need it. */
interface TierChainUse {
  readonly keys: readonly string[]
  sets: readonly SetName[]
  /** Those that its rules lead to. */
  denials: readonly ChainName[]
  uses: number
}

/**
 * The chains of ClusterNetworkPolicies: one for each list of policies of a tier that a Pod of this node is a subject of,
 * with the rules of all of them, so that Pass can end the chain; and one for each policy that denies, which counts.
 */
export class TierChains {
  readonly tierChains = new Map<ChainName, TierChain>()
  readonly denyChains = new Map<ChainName, DenyChain>()
  readonly #sets: PolicySets
  readonly #policies = new Map<string, KnownClusterPolicy>()
  readonly #uses = new Map<ChainName, TierChainUse>()
  readonly #denials = new Map<ChainName, number>()
  /** Keys of policies whose rules may have changed since the chains were written. */
  readonly #changed = new Set<string>()
  readonly #before = new Tracked<ChainName, TierChain | DenyChain>(isSameValue)

  constructor(sets: PolicySets) {
    this.#sets = sets
  }

  get hasPolicies(): boolean {
    return this.#policies.size > 0
  }

  /** Returns whether something changed: then `select` has other results. To be settled. */
  setPolicy(key: string, policy: ClusterNetworkPolicy | undefined): boolean {
    const before = this.#policies.get(key)
    const after = policy?.subject && policy
    if (isSameValue(before?.policy, after)) return false
    this.#changed.add(key)
    if (policy?.subject === undefined) this.#policies.delete(key)
    else {
      const { namespaceSelector, podSelector } = policy.subject
      const isPod = labelMatcher(podSelector)
      this.#policies.set(key, { policy, isPod, isNamespace: labelMatcher(namespaceSelector) })
    }
    return true
  }

  /**
   * The policies that have rules for Pods with these labels. `unknown`: the namespace is not known yet, and its labels
   * may be those that a policy selects.
   */
  select(
    direction: Direction,
    labels: Json,
    namespaceLabels: Json | undefined,
  ): TierPolicies | 'unknown' {
    if (!this.hasPolicies) return { admin: [], baseline: [] }
    const ofPods = [...this.#policies.values()].filter(
      ({ policy, isPod }) => policy.rules[direction].length > 0 && isPod(labels),
    )
    if (namespaceLabels === undefined && ofPods.length > 0) return 'unknown'
    const selecting = ofPods.filter(({ isNamespace }) => isNamespace(namespaceLabels ?? {}))
    const of = (tier: Tier) =>
      inPrecedence(
        selecting.map(({ policy }) => policy).filter((policy) => policy.tier === tier),
      ).map(({ key }) => key)
    return { admin: of('Admin'), baseline: of('Baseline') }
  }

  /** The chain of these policies until `release` is called as often; undefined if there are none. */
  need(direction: Direction, tier: Tier, keys: readonly string[]): ChainName | undefined {
    if (keys.length === 0) return undefined
    const hash = hashName(JSON.stringify(keys), HASH_LENGTH)
    const name = `${direction}-${tier.toLowerCase()}-${hash}` as ChainName
    const known = this.#uses.get(name)
    if (known !== undefined) known.uses += 1
    else {
      const use = { keys, sets: [], denials: [], uses: 1 }
      this.#uses.set(name, use)
      this.#write(name, { direction, tier }, use)
    }
    return name
  }

  release(name: ChainName | undefined): void {
    const [use, chain] = name === undefined ? [] : [this.#uses.get(name), this.tierChains.get(name)]
    if (name === undefined || use === undefined || chain === undefined) return
    use.uses -= 1
    if (use.uses > 0) return
    this.#uses.delete(name)
    this.#before.note(name, chain)
    this.tierChains.delete(name)
    this.#releaseParts(use)
  }

  /** Writes the chains again whose policies have other rules. All `need` and `release` have been called. */
  settle(): void {
    for (const [name, use] of this.#uses) {
      const chain = this.tierChains.get(name)
      if (chain && use.keys.some((key) => this.#changed.has(key))) this.#write(name, chain, use)
    }
    this.#changed.clear()
  }

  /** Whether a connection may be withdrawn because this set has another member. */
  isDenied(name: SetName): boolean {
    return this.tierChains
      .values()
      .some(({ rules }) =>
        rules.some((rule) => rule.action !== 'accept' && setsOf(rule).includes(name)),
      )
  }

  /** What is different since this was last called. */
  takeChanges() {
    const before = this.#before.take((name) => this.#chainOf(name))
    // A chain that appears or vanishes does so together with the chains of Pods that lead to it.
    const isNarrower = [...before].some(
      ([name, held]) => held !== undefined && 'rules' in held && this.tierChains.has(name),
    )
    return { chains: [...before.keys()], isNarrower }
  }

  #chainOf(name: ChainName): TierChain | DenyChain | undefined {
    return this.tierChains.get(name) ?? this.denyChains.get(name)
  }

  #write(
    name: ChainName,
    { direction, tier }: { readonly direction: Direction; readonly tier: Tier },
    use: TierChainUse,
  ): void {
    const writer = new RuleWriter(this.#sets)
    const denials: ChainName[] = []
    const rules = use.keys.flatMap((key) =>
      (this.#policies.get(key)?.policy.rules[direction] ?? []).flatMap((rule): TierRule[] => {
        const written = writer.write(rule, '')
        if (written.length === 0) return []
        const comment = rule.name === '' ? key : `${key}/${rule.name}`
        if (rule.action !== 'Deny') {
          const action = rule.action === 'Accept' ? 'accept' : 'pass'
          return written.map((one) => ({ ...one, action, comment }))
        }
        const deny = this.#needDenial(direction, key)
        denials.push(deny)
        return written.map((one) => ({ ...one, action: { deny }, comment }))
      }),
    )
    const before = { ...use }
    this.#before.note(name, this.tierChains.get(name))
    this.tierChains.set(name, { direction, tier, policies: use.keys, rules })
    use.sets = writer.needed
    use.denials = denials
    this.#releaseParts(before)
  }

  #releaseParts({ sets, denials }: Pick<TierChainUse, 'sets' | 'denials'>): void {
    for (const set of sets) this.#sets.release(set)
    for (const name of denials) {
      const uses = (this.#denials.get(name) ?? 0) - 1
      this.#denials.set(name, uses)
      if (uses > 0) continue
      this.#before.note(name, this.denyChains.get(name))
      this.denyChains.delete(name)
      this.#denials.delete(name)
    }
  }

  #needDenial(direction: Direction, policy: string): ChainName {
    const name = `${direction}-deny-${hashName(policy, HASH_LENGTH)}` as ChainName
    this.#denials.set(name, (this.#denials.get(name) ?? 0) + 1)
    if (!this.denyChains.has(name)) {
      this.#before.note(name, undefined)
      this.denyChains.set(name, { direction, policy })
    }
    return name
  }
}

/** The sets that a rule compares packets with. */
function setsOf({ peers, ports }: TierRule): readonly SetName[] {
  const named = ports === 'any' ? [] : ports.map(({ ports: of }) => of)
  return [
    ...(peers === 'any' ? [] : [peers]),
    ...named.flatMap((of) => (typeof of === 'object' && 'named' in of ? [of.named] : [])),
  ]
}
