import { hashName } from '../lib/hash.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { Json } from '../lib/json.ts'
import type {
  Direction,
  NetworkPolicy,
  PolicyPort,
  PolicyRule,
} from '../networkpolicy/network-policy.ts'
import { labelMatcher } from '../resources/label-selector.ts'
import { isSameValue, present } from '../resources/reader.ts'
import type { ClusterPod } from './cluster-pod.ts'
import type {
  ChainName,
  ChainRule,
  PodChain,
  PodVerdict,
  PolicyChain,
  PortMatch,
  SetName,
} from './policy-content.ts'
import { deleteFrom, identityKey, type PolicySets, Tracked } from './policy-sets.ts'

const DIRECTIONS: readonly Direction[] = ['ingress', 'egress']
/** Characters of a hash in a name: 114 bits, so that nobody can make two that are equal. */
const HASH_LENGTH = 19
const MAX_PORT = 65_535

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
    const policiesOf = (name: ChainName): readonly ChainName[] => {
      const chain = chains.get(name) ?? this.podChains.get(name)
      return chain !== undefined && 'policies' in chain ? chain.policies : []
    }
    const isPodNarrower = (before: PodVerdict | undefined, after: PodVerdict | undefined) => {
      if (after === undefined || after === 'accept') return false
      if (before === undefined || before === 'accept') return true
      const now = new Set(policiesOf(after))
      return !policiesOf(before).every((one) => now.has(one))
    }
    const isNarrower =
      [...chains].some(([name, before]) => isChainNarrower(before, this.policyChains.get(name))) ||
      [...ingress].some(([ip, held]) => isPodNarrower(held, this.verdicts.ingress.get(ip))) ||
      [...egress].some(([ip, held]) => isPodNarrower(held, this.verdicts.egress.get(ip)))
    return {
      chains: new Set(chains.keys()),
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

  #verdictOf({ policies }: LocalGroup, direction: Direction): PodVerdict {
    const isolatedBy = [...policies]
      .filter(({ policy }) => policy?.rules[direction] !== undefined)
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    if (isolatedBy.length === 0) return 'accept'
    const chains = isolatedBy.map(({ key }) => policyChainName(direction, key))
    const name = `${direction}-pods-${hashName(chains.join(' '), HASH_LENGTH)}` as ChainName
    if (this.podChains.has(name)) return name
    for (const one of isolatedBy) {
      one.chains[direction].uses += 1
      if (one.chains[direction].uses === 1) this.#write(one, direction)
    }
    this.#chainsBefore.note(name, undefined)
    this.podChains.set(name, { direction, policies: chains })
    this.#podChainUses.set(name, { isolatedBy, uses: 0 })
    return name
  }

  #use(verdict: PodVerdict): void {
    const use = verdict === 'accept' ? undefined : this.#podChainUses.get(verdict)
    if (use !== undefined) use.uses += 1
  }

  #release(verdict: PodVerdict): void {
    if (verdict === 'accept') return
    const [chain, use] = [this.podChains.get(verdict), this.#podChainUses.get(verdict)]
    if (chain === undefined || use === undefined) return
    use.uses -= 1
    if (use.uses > 0) return
    this.#chainsBefore.note(verdict, chain)
    this.podChains.delete(verdict)
    this.#podChainUses.delete(verdict)
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
    const sets: SetName[] = []
    const needed = (set: SetName): SetName => {
      sets.push(set)
      return set
    }
    if (policy === undefined || rules === undefined) this.policyChains.delete(name)
    else {
      const written = rules.flatMap((rule) => this.#writeRule(rule, policy.namespace, needed))
      this.policyChains.set(name, { direction, policy: policy.key, rules: written })
    }
    chain.sets = sets
    for (const set of before) this.#sets.release(set)
  }

  #writeRule(
    { peers, ports }: PolicyRule,
    namespace: string,
    needed: (name: SetName) => SetName,
  ): readonly ChainRule[] {
    const to = ports === 'any' ? ports : present(ports.map((one) => this.#writePort(one, needed)))
    if (to !== 'any' && to.length === 0) return []
    if (peers === 'any') return [{ peers, ports: to }]
    return peers.map((peer) => ({ peers: needed(this.#sets.need(peer, namespace)), ports: to }))
  }

  /** Undefined for numbers that no port has. */
  #writePort(
    { protocol, port }: PolicyPort,
    needed: (name: SetName) => SetName,
  ): PortMatch | undefined {
    if (port === undefined) return { protocol, ports: 'any' }
    if (typeof port === 'string')
      return { protocol, ports: { named: needed(this.#sets.needPort(protocol, port)) } }
    const range = {
      first: Math.max(Math.ceil(port.first), 0),
      last: Math.min(Math.floor(port.last), MAX_PORT),
    }
    return range.first <= range.last ? { protocol, ports: [range] } : undefined
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
