import type { Cidr, IpAddress } from '../lib/ip.ts'
import { isSameValue } from '../resources/reader.ts'
import type { ClusterPod } from './cluster-pod.ts'
import { PolicyChains } from './policy-chains.ts'
import type {
  FlowRefusal,
  PolicyChanges,
  PolicyContent,
  PolicyEvent,
  PolicyFlow,
} from './policy-content.ts'
import { PolicySets } from './policy-sets.ts'
import { refusalIn } from './refusal.ts'

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

  apply(events: readonly PolicyEvent[]): void {
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

  /** Which policies refuse a connection; undefined if it is admitted. As `admits`. */
  refusalOf(flow: PolicyFlow): FlowRefusal | undefined {
    return refusalIn(this.content, flow)
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

/** Of the Pods that say they have an address the one that has it: one that is not being deleted, the newest, the first by name. */
function holderOf(claims: readonly ClusterPod[]): ClusterPod | undefined {
  const [first, ...others] = claims
  return others.reduce((best, one) => (isBefore(one, best!) ? one : best), first)
}

function isBefore(a: ClusterPod, b: ClusterPod): boolean {
  if (a.isBeingDeleted !== b.isBeingDeleted) return b.isBeingDeleted
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt
  return a.key < b.key
}
