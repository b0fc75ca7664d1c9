import { hashName } from '../lib/hash.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import { isolating } from '../networkpolicy/judge-connection.ts'
import type {
  Direction,
  NetworkPolicy,
  PolicyPort,
  PolicyRule,
} from '../networkpolicy/network-policy.ts'
import { isSameValue } from '../resources/reader.ts'
import type { ClusterPod } from './cluster-pod.ts'
import type {
  ChainName,
  ChainRule,
  PodChain,
  PodVerdict,
  PolicyChain,
  PolicyChanges,
  PolicyContent,
  PolicyEvent,
  PolicyFlow,
  PortMatch,
  SetName,
} from './policy-content.ts'
import { PolicySets, Tracked } from './policy-sets.ts'

const DIRECTIONS: readonly Direction[] = ['ingress', 'egress']
/** Characters of a hash in a name: 114 bits, so that nobody can make two that are equal. */
const HASH_LENGTH = 19

/** What a policy has in the content while it isolates a Pod of the node. */
interface WrittenPolicy {
  readonly chains: readonly ChainName[]
  /** Each as often as its rules need it. */
  readonly sets: readonly SetName[]
}

/**
 * What the policies of a cluster mean for the Pods of one node, kept up to date by events. It depends on the present
 * objects alone, not on the order in which they came.
 */
export class PolicyModel {
  readonly #node: string
  readonly #sets = new PolicySets()
  /** By namespace, then by key. */
  readonly #policies = new Map<string, Map<string, NetworkPolicy>>()
  readonly #written = new Map<string, WrittenPolicy>()
  readonly #pods = new Map<string, ClusterPod>()
  /** The Pods that say they have an address: almost always one. */
  readonly #claims = new Map<IpAddress, ReadonlySet<ClusterPod>>()
  /** The Pods of this node that have an address, by namespace. */
  readonly #local = new Map<string, Map<IpAddress, ClusterPod>>()
  readonly #policyChains = new Map<ChainName, PolicyChain>()
  readonly #podChains = new Map<ChainName, PodChain>()
  /** How many addresses lead to each of them. */
  readonly #uses = new Map<ChainName, number>()
  readonly #verdicts = {
    ingress: new Map<IpAddress, PodVerdict>(),
    egress: new Map<IpAddress, PodVerdict>(),
  }
  #localRanges: readonly Cidr[] = []
  /** Namespaces whose Pods of this node have to be compared with its policies again. */
  readonly #stale = new Set<string>()
  readonly #chainsBefore = new Tracked<ChainName, PolicyChain | PodChain>(isSameChain)
  readonly #verdictsBefore = {
    ingress: new Tracked<IpAddress, PodVerdict>(),
    egress: new Tracked<IpAddress, PodVerdict>(),
  }
  #rangesBefore: readonly Cidr[] = []

  /** `nodeName`: the node whose Pods are isolated. */
  constructor({ nodeName }: { readonly nodeName: string }) {
    this.#node = nodeName
  }

  /** What the node enforces now. */
  get content(): PolicyContent {
    this.#settle()
    return {
      sets: this.#sets.all,
      policyChains: this.#policyChains,
      podChains: this.#podChains,
      pods: this.#verdicts,
      localRanges: this.#localRanges,
    }
  }

  /** Returns whether there was an event. */
  apply(events: readonly PolicyEvent[]): boolean {
    for (const event of events) {
      switch (event.kind) {
        case 'policy':
          this.#setPolicy(event.key, event.value)
          break
        case 'namespace':
          this.#sets.setNamespace(event.name, event.labels)
          break
        case 'pod':
          this.#setPod(event.key, event.value)
          break
        case 'node':
          this.#localRanges = event.podCIDRs
      }
    }
    return events.length > 0
  }

  /** What is different since the last call. */
  takeChanges(): PolicyChanges {
    this.#settle()
    for (const [name, uses] of this.#uses) {
      if (uses > 0) continue
      this.#chainsBefore.note(name, this.#podChains.get(name))
      this.#podChains.delete(name)
      this.#uses.delete(name)
    }
    const chainNow = (name: ChainName) => this.#policyChains.get(name) ?? this.#podChains.get(name)
    const chains = this.#chainsBefore.take(chainNow)
    const { hasLost, ...ofSets } = this.#sets.takeChanges()
    const verdicts = {
      ingress: this.#verdictsBefore.ingress.take((ip) => this.#verdicts.ingress.get(ip)),
      egress: this.#verdictsBefore.egress.take((ip) => this.#verdicts.egress.get(ip)),
    }
    const hasLocalRanges = !isSameValue(this.#rangesBefore, this.#localRanges)
    this.#rangesBefore = this.#localRanges
    const isNarrower =
      hasLost ||
      [...chains.values()].some((held) => held !== undefined && 'rules' in held) ||
      DIRECTIONS.some((direction) =>
        [...verdicts[direction]].some(([ip, held]) =>
          this.#isNarrower(held, this.#verdicts[direction].get(ip), chains),
        ),
      )
    return {
      ...ofSets,
      chains: new Set(chains.keys()),
      pods: {
        ingress: new Set(verdicts.ingress.keys()),
        egress: new Set(verdicts.egress.keys()),
      },
      hasLocalRanges,
      isNarrower,
    }
  }

  /**
   * Whether a connection may go on. Only the ends that are Pods of this node decide; the caller leaves out connections
   * of the node itself, which need no admission.
   */
  admits({ source, destination, protocol, port }: PolicyFlow): boolean {
    this.#settle()
    if (source === destination) return true
    const to = { destination, protocol, port }
    return (
      this.#isAdmitted(this.#verdicts.egress.get(source), destination, to) &&
      this.#isAdmitted(this.#verdicts.ingress.get(destination), source, to)
    )
  }

  #isAdmitted(
    verdict: PodVerdict | undefined,
    peer: IpAddress,
    to: Omit<PolicyFlow, 'source'>,
  ): boolean {
    if (verdict === undefined || verdict === 'accept') return true
    const chains = this.#podChains.get(verdict)?.policies ?? []
    return chains.some((name) =>
      this.#policyChains
        .get(name)
        ?.rules.some(
          ({ peers, ports }) =>
            (peers === 'any' || this.#sets.has(peers, peer)) &&
            (ports === 'any' || ports.some((one) => this.#hasPort(one, to))),
        ),
    )
  }

  #hasPort(match: PortMatch, { destination, protocol, port }: Omit<PolicyFlow, 'source'>): boolean {
    if (match.protocol !== protocol) return false
    if (match.ports === 'any') return true
    if ('named' in match.ports) return this.#sets.has(match.ports.named, destination, port)
    return match.ports.some(({ first, last }) => first <= port && port <= last)
  }

  #setPolicy(key: string, policy: NetworkPolicy | undefined): void {
    const namespace = key.slice(0, key.indexOf('/'))
    const beside = this.#policies.getOrInsertComputed(namespace, () => new Map())
    if (policy !== undefined && isSameValue(beside.get(key), policy)) return
    this.#unwrite(key)
    this.#stale.add(namespace)
    if (policy === undefined) beside.delete(key)
    else beside.set(key, policy)
    if (beside.size === 0) this.#policies.delete(namespace)
  }

  /** Adds the chains of a policy, with the sets that they need. */
  #write(policy: NetworkPolicy): void {
    const sets: SetName[] = []
    const needed = (name: SetName): SetName => {
      sets.push(name)
      return name
    }
    const chains: ChainName[] = []
    for (const direction of DIRECTIONS) {
      const rules = policy.rules[direction]?.flatMap((rule) =>
        this.#writeRule(rule, policy, needed),
      )
      if (rules === undefined) continue
      const name = policyChainName(direction, policy.key)
      chains.push(name)
      this.#chainsBefore.note(name, this.#policyChains.get(name))
      this.#policyChains.set(name, { direction, policy: policy.key, rules })
    }
    this.#written.set(policy.key, { chains, sets })
  }

  #unwrite(key: string): void {
    const { chains = [], sets = [] } = this.#written.get(key) ?? {}
    for (const name of chains) {
      this.#chainsBefore.note(name, this.#policyChains.get(name))
      this.#policyChains.delete(name)
    }
    for (const name of sets) this.#sets.release(name)
    this.#written.delete(key)
  }

  #writeRule(
    { peers, ports }: PolicyRule,
    { namespace }: NetworkPolicy,
    needed: (name: SetName) => SetName,
  ): readonly ChainRule[] {
    const to = ports === 'any' ? ports : ports.map((one) => this.#writePort(one, needed))
    if (peers === 'any') return [{ peers, ports: to }]
    return peers.map((peer) => ({ peers: needed(this.#sets.need(peer, namespace)), ports: to }))
  }

  #writePort({ protocol, port }: PolicyPort, needed: (name: SetName) => SetName): PortMatch {
    if (port === undefined) return { protocol, ports: 'any' }
    if (typeof port !== 'string') return { protocol, ports: [port] }
    return { protocol, ports: { named: needed(this.#sets.needPort(protocol, port)) } }
  }

  #setPod(key: string, pod: ClusterPod | undefined): void {
    const before = this.#pods.get(key)
    if (pod === undefined) this.#pods.delete(key)
    else this.#pods.set(key, pod)
    for (const ip of new Set([...(before?.ips ?? []), ...(pod?.ips ?? [])])) {
      const claims = new Set(this.#claims.get(ip))
      const held = holderOf(claims)
      if (before !== undefined) claims.delete(before)
      if (pod?.ips.includes(ip)) claims.add(pod)
      if (claims.size === 0) this.#claims.delete(ip)
      else this.#claims.set(ip, claims)
      this.#setHolder(ip, held, holderOf(claims))
    }
  }

  #setHolder(ip: IpAddress, before: ClusterPod | undefined, after: ClusterPod | undefined): void {
    this.#sets.setHolder(ip, after)
    if (before?.nodeName === this.#node) this.#local.get(before.namespace)?.delete(ip)
    if (after?.nodeName === this.#node) {
      this.#local.getOrInsertComputed(after.namespace, () => new Map()).set(ip, after)
      this.#stale.add(after.namespace)
    } else if (before?.nodeName === this.#node) {
      this.#stale.add(before.namespace)
      for (const direction of DIRECTIONS) this.#setVerdict(direction, ip, undefined)
    }
  }

  /**
   * Compares the Pods of this node with the policies of their namespaces, where something changed. Policies that isolate
   * none of them have no chains.
   */
  #settle(): void {
    for (const namespace of this.#stale) {
      const policies = [...(this.#policies.get(namespace)?.values() ?? [])]
      const isolate = new Set<string>()
      for (const [ip, pod] of this.#local.get(namespace) ?? []) {
        const seen = { ...pod, namespaceLabels: {} }
        for (const direction of DIRECTIONS) {
          const keys = isolating(policies, seen, direction).map(({ key }) => key)
          this.#setVerdict(direction, ip, keys.length === 0 ? 'accept' : keys)
          for (const key of keys) isolate.add(key)
        }
      }
      for (const policy of policies) {
        if (!isolate.has(policy.key)) this.#unwrite(policy.key)
        else if (!this.#written.has(policy.key)) this.#write(policy)
      }
    }
    this.#stale.clear()
  }

  /** `verdict`: the keys of the policies that isolate the Pod, sorted. */
  #setVerdict(
    direction: Direction,
    ip: IpAddress,
    verdict: 'accept' | readonly string[] | undefined,
  ): void {
    const before = this.#verdicts[direction].get(ip)
    const after = typeof verdict === 'object' ? this.#podChain(direction, verdict) : verdict
    if (before === after) return
    this.#verdictsBefore[direction].note(ip, before)
    this.#count(before, -1)
    this.#count(after, 1)
    if (after === undefined) this.#verdicts[direction].delete(ip)
    else this.#verdicts[direction].set(ip, after)
  }

  #count(verdict: PodVerdict | undefined, more: number): void {
    if (verdict === undefined || verdict === 'accept') return
    this.#uses.set(verdict, (this.#uses.get(verdict) ?? 0) + more)
  }

  #podChain(direction: Direction, policies: readonly string[]): ChainName {
    const chains = policies.map((key) => policyChainName(direction, key))
    const name = `${direction}-pods-${hashName(chains.join(' '), HASH_LENGTH)}` as ChainName
    if (!this.#podChains.has(name)) {
      this.#chainsBefore.note(name, undefined)
      this.#podChains.set(name, { direction, policies: chains })
    }
    return name
  }

  #isNarrower(
    held: PodVerdict | undefined,
    now: PodVerdict | undefined,
    chainsHeld: ReadonlyMap<ChainName, PolicyChain | PodChain | undefined>,
  ): boolean {
    if (now === undefined || now === 'accept') return false
    if (held === undefined || held === 'accept') return true
    const before = chainsHeld.get(held) ?? this.#podChains.get(held)
    const after = new Set(this.#podChains.get(now)?.policies)
    return (
      before === undefined || 'rules' in before || !before.policies.every((one) => after.has(one))
    )
  }
}

/** The Pod that has an address that several say they have: not the one that goes, then the newest, then by name. */
function holderOf(claims: ReadonlySet<ClusterPod>): ClusterPod | undefined {
  const [first, ...others] = claims
  return others.reduce((best, one) => (isBefore(one, best!) ? one : best), first)
}

function isBefore(a: ClusterPod, b: ClusterPod): boolean {
  if (a.isBeingDeleted !== b.isBeingDeleted) return b.isBeingDeleted
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt
  return a.key < b.key
}

function policyChainName(direction: Direction, policy: string): ChainName {
  return `${direction}-${hashName(policy, HASH_LENGTH)}` as ChainName
}

function isSameChain(a: PolicyChain | PodChain, b: PolicyChain | PodChain): boolean {
  return 'rules' in a && 'rules' in b
    ? isSameValue(a.rules, b.rules)
    : 'rules' in a === 'rules' in b
}
