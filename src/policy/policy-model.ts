import type { Cidr, IpAddress } from '../lib/ip.ts'
import type { Direction } from '../networkpolicy/network-policy.ts'
import { isSameValue } from '../resources/reader.ts'
import type { ClusterPod } from './cluster-pod.ts'
import { PolicyChains } from './policy-chains.ts'
import type {
  ChainName,
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
    const { policyChains, podChains, verdicts } = this.#chains
    const sets = this.#sets.all
    return { sets, policyChains, podChains, pods: verdicts, localRanges: this.#localRanges }
  }

  /** Returns whether there was an event. */
  apply(events: readonly PolicyEvent[]): boolean {
    for (const event of events) {
      switch (event.kind) {
        case 'policy':
          this.#chains.setPolicy(event.key, event.value)
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
    this.#chains.settle()
    return events.length > 0
  }

  /** What is different since the last call. */
  takeChanges(): PolicyChanges {
    const ofChains = this.#chains.takeChanges()
    const { hasLost, ...ofSets } = this.#sets.takeChanges()
    const hasLocalRanges = !isSameValue(this.#rangesBefore, this.#localRanges)
    this.#rangesBefore = this.#localRanges
    const isNarrower = hasLost || ofChains.isNarrower
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
    const [ofSource, ofDestination] = [egress.get(source), ingress.get(destination)]
    if (!this.#isAdmitted(ofSource, destination, to)) return this.#refusal('egress', ofSource)
    if (!this.#isAdmitted(ofDestination, source, to)) return this.#refusal('ingress', ofDestination)
    return undefined
  }

  #refusal(direction: Direction, verdict: PodVerdict | undefined): FlowRefusal {
    const { podChains, policyChains } = this.#chains
    const names = podChains.get(verdict as ChainName)?.policies ?? []
    return { direction, policies: names.flatMap((name) => policyChains.get(name)?.policy ?? []) }
  }

  #isAdmitted(
    verdict: PodVerdict | undefined,
    peer: IpAddress,
    to: Omit<PolicyFlow, 'source'>,
  ): boolean {
    if (verdict === undefined || verdict === 'accept') return true
    const chains = this.#chains.podChains.get(verdict)?.policies ?? []
    return chains.some((name) =>
      this.#chains.policyChains
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
