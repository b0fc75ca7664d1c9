import type { Cidr, IpAddress } from '../lib/ip.ts'
import { isSameValue, present } from '../resources/reader.ts'
import type { ClusterPod } from './cluster-pod.ts'
import { PolicyChains } from './policy-chains.ts'
import type {
  ChainRule,
  FlowRefusal,
  PodVerdict,
  PolicyChanges,
  PolicyContent,
  PolicyEvent,
  PolicyFlow,
  PortMatch,
} from './policy-content.ts'
import { PolicySets } from './policy-sets.ts'

/**
 * What the policies of a cluster mean for the Pods of one node, kept up to date by events. It depends on the present
 * objects alone, not on the order in which they came.
 */
export class PolicyModel {
  readonly #node: string
  readonly #sets = new PolicySets()
  readonly #chains = new PolicyChains(this.#sets)
  readonly #pods = new Map<string, ClusterPod>()
  /** The Pods that say they have an address: almost always one. */
  readonly #claims = new Map<IpAddress, readonly ClusterPod[]>()
  #localRanges: readonly Cidr[] = []
  #rangesBefore: readonly Cidr[] = []

  /** `nodeName`: the node whose Pods are isolated. */
  constructor({ nodeName }: { readonly nodeName: string }) {
    this.#node = nodeName
  }

  /** What the node enforces now. */
  get content(): PolicyContent {
    const { policyChains, podChains, verdicts, tiers } = this.#chains
    const { tierChains, denyChains } = tiers
    const chains = { policyChains, tierChains, denyChains, podChains }
    return { sets: this.#sets.all, ...chains, pods: verdicts, localRanges: this.#localRanges }
  }

  /** `namespace/name` of the Pod that has an address, of any node. */
  podAt(ip: IpAddress): string | undefined {
    return holderOf(this.#claims.get(ip) ?? [])?.key
  }

  /** Returns whether there was an event. */
  apply(events: readonly PolicyEvent[]): boolean {
    for (const event of events) {
      switch (event.kind) {
        case 'policy':
          this.#chains.setPolicy(event.key, event.value)
          break
        case 'clusterPolicy':
          this.#chains.setClusterPolicy(event.key, event.value)
          break
        case 'namespace':
          this.#sets.setNamespace(event.name, event.labels)
          this.#chains.namespaceChanged(event.name)
          break
        case 'pod':
          this.#setPod(event.key, event.value)
          break
        case 'node':
          this.#localRanges = event.podCIDRs
      }
    }
    this.#chains.settle()
    return events.length > 0
  }

  /** What is different since the last call. */
  takeChanges(): PolicyChanges {
    const ofChains = this.#chains.takeChanges()
    const { hasLost, gained, ...ofSets } = this.#sets.takeChanges()
    const hasLocalRanges = !isSameValue(this.#rangesBefore, this.#localRanges)
    this.#rangesBefore = this.#localRanges
    const isDenied = gained.some((name) => this.#chains.tiers.isDenied(name))
    const isNarrower = hasLost || isDenied || ofChains.isNarrower
    return { ...ofSets, ...ofChains, hasLocalRanges, isNarrower }
  }

  /**
   * Whether a connection may go on. Only the ends that are Pods of this node decide; the caller leaves out connections
   * of the node itself, which need no admission.
   */
  admits(flow: PolicyFlow): boolean {
    return this.refusalOf(flow) === undefined
  }

  /** Who refuses a connection; undefined if nobody does. As `admits`. */
  refusalOf({ source, destination, protocol, port }: PolicyFlow): FlowRefusal | undefined {
    if (source === destination) return undefined
    const to = { destination, protocol, port }
    const { egress, ingress } = this.#chains.verdicts
    const ofSource = this.#refusing(egress.get(source), destination, to)
    if (ofSource !== undefined) return { direction: 'egress', ...ofSource }
    const ofDestination = this.#refusing(ingress.get(destination), source, to)
    return ofDestination && { direction: 'ingress', ...ofDestination }
  }

  /** The policies that refuse a connection at one end; undefined if it is admitted there. */
  #refusing(
    verdict: PodVerdict | undefined,
    peer: IpAddress,
    to: Omit<PolicyFlow, 'source'>,
  ): Omit<FlowRefusal, 'direction'> | undefined {
    if (verdict === undefined || verdict === 'accept') return undefined
    const chain = verdict === 'drop' ? undefined : this.#chains.podChains.get(verdict)
    if (chain === undefined) return { policies: [] }
    const { policyChains, tiers } = this.#chains
    const isMatch = (rule: ChainRule): boolean => this.#isMatch(rule, peer, to)
    for (const name of [chain.admin, chain.baseline]) {
      const action = (name && tiers.tierChains.get(name)?.rules.find(isMatch))?.action ?? 'pass'
      if (action === 'accept') return undefined
      if (action !== 'pass') {
        return { policies: present([tiers.denyChains.get(action.deny)?.policy]), isDenied: true }
      }
    }
    const isolating = present(chain.policies.map((name) => policyChains.get(name)))
    const isAdmitted = isolating.length === 0 || isolating.some(({ rules }) => rules.some(isMatch))
    return isAdmitted ? undefined : { policies: isolating.map(({ policy }) => policy) }
  }

  #isMatch({ peers, ports }: ChainRule, peer: IpAddress, to: Omit<PolicyFlow, 'source'>): boolean {
    return (
      (peers === 'any' || this.#sets.has(peers, peer)) &&
      (ports === 'any' || ports.some((one) => this.#hasPort(one, to)))
    )
  }

  #hasPort(match: PortMatch, { destination, protocol, port }: Omit<PolicyFlow, 'source'>): boolean {
    if (match.protocol !== protocol) return false
    if (match.ports === 'any') return true
    if ('named' in match.ports) return this.#sets.has(match.ports.named, destination, port)
    return match.ports.some(({ first, last }) => first <= port && port <= last)
  }

  #setPod(key: string, event: ClusterPod | undefined): void {
    const before = this.#pods.get(key)
    if (isSameValue(before, event)) return
    const pod = event && this.#sets.interned(event)
    if (pod === undefined) this.#pods.delete(key)
    else this.#pods.set(key, pod)
    for (const ip of new Set([...(before?.ips ?? []), ...(pod?.ips ?? [])])) {
      const claims = (this.#claims.get(ip) ?? []).filter((one) => one !== before)
      if (pod?.ips.includes(ip)) claims.push(pod)
      if (claims.length === 0) this.#claims.delete(ip)
      else this.#claims.set(ip, claims)
      const holder = holderOf(claims)
      this.#sets.setHolder(ip, holder)
      this.#chains.setLocal(ip, holder?.nodeName === this.#node ? holder : undefined)
    }
  }
}

/** The Pod that has an address that several say they have: not the one that goes, then the newest, then by name. */
function holderOf(claims: readonly ClusterPod[]): ClusterPod | undefined {
  const [first, ...others] = claims
  return others.reduce((best, one) => (isBefore(one, best!) ? one : best), first)
}

function isBefore(a: ClusterPod, b: ClusterPod): boolean {
  if (a.isBeingDeleted !== b.isBeingDeleted) return b.isBeingDeleted
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt
  return a.key < b.key
}
