import type { Brand } from '../lib/brand.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import type { Json } from '../lib/json.ts'
import type { PortRange } from '../lib/port-range.ts'
import type { ClusterNetworkPolicy, Tier } from '../networkpolicy/cluster-network-policy.ts'
import type { Direction, NetworkPolicy } from '../networkpolicy/network-policy.ts'
import type { Protocol } from '../resources/types.ts'
import type { ClusterPod } from './cluster-pod.ts'

/** Characters of a hash in a name: 114 bits, so that two equal ones cannot be made on purpose. */
export const HASH_LENGTH = 19

/** The name of a set, at most 60 of `a-z`, `0-9` and `-`. It follows from what the set is for. */
export type SetName = Brand<string, 'PolicySetName'>

/** The name of a chain, at most 60 of `a-z`, `0-9` and `-`. */
export type ChainName = Brand<string, 'PolicyChainName'>

/** Addresses of the first to the last, both included, of one family. */
export interface AddressRange {
  readonly first: IpAddress
  readonly last: IpAddress
}

/** A port of a Pod that rules know by name. */
export interface NamedPortMember {
  readonly ip: IpAddress
  readonly protocol: Protocol
  readonly port: number
}

/** What rules compare packets with; rules with the same selector or blocks share a set. */
export type PolicySet =
  /** The addresses, of both families, of all Pods of the cluster that a selector selects. */
  | {
      readonly kind: 'pods'
      readonly members: ReadonlySet<IpAddress>
      /** The selector, for readers: at most 120 printable characters. */
      readonly comment: string
    }
  /** Disjoint ranges in ascending order; the name changes with them. */
  | { readonly kind: 'blocks'; readonly ranges: readonly AddressRange[] }
  /** The ports of one protocol and name, by `memberKey`. */
  | { readonly kind: 'namedPorts'; readonly members: ReadonlyMap<string, NamedPortMember> }

/** Ports of one protocol: all, numbers (disjoint, ascending), or those with a name at the destination. */
export interface PortMatch {
  readonly protocol: Protocol
  readonly ports: 'any' | readonly PortRange[] | { readonly named: SetName }
}

/**
 * What a rule admits: peers of one set (ingress: sources, egress: destinations) to one of `ports`. With `ports: 'any'`
 * every protocol is admitted, else the named ones alone.
 */
export interface ChainRule {
  readonly peers: 'any' | SetName
  readonly ports: 'any' | readonly PortMatch[]
}

/** The rules of one policy in one direction; a policy without rules admits nothing. */
export interface PolicyChain {
  readonly direction: Direction
  /** `namespace/name` */
  readonly policy: string
  readonly rules: readonly ChainRule[]
}

/** A rule of a tier. `accept`: admitted at once; `pass`: the rest of the tier is skipped; else dropped by a `DenyChain`. */
export interface TierRule extends ChainRule {
  readonly action: 'accept' | 'pass' | { readonly deny: ChainName }
  /** The policy and the name of the rule, for readers. */
  readonly comment: string
}

/** The rules of the policies of one tier that a Pod is a subject of: the first that matches decides. */
export interface TierChain {
  readonly direction: Direction
  readonly tier: Tier
  /** Their names, in the order in which they are judged. */
  readonly policies: readonly string[]
  readonly rules: readonly TierRule[]
}

/** Drops what rules of one ClusterNetworkPolicy deny. */
export interface DenyChain {
  readonly direction: Direction
  /** Its name. */
  readonly policy: string
}

/**
 * What decides about a Pod in one direction: first the tier Admin; then the policies that isolate it, ordered by name,
 * and what none of them admits is dropped; or, if there are none, the tier Baseline, and what that does not decide is
 * admitted. Pods share chains.
 */
export interface PodChain {
  readonly direction: Direction
  readonly admin: ChainName | undefined
  readonly policies: readonly ChainName[]
  /** Undefined if there are `policies`. */
  readonly baseline: ChainName | undefined
}

/**
 * `accept`: no policy is about the Pod in this direction; `drop`: its namespace is not known yet, and a policy may be;
 * else the name of its `PodChain`.
 */
export type PodVerdict = 'accept' | 'drop' | ChainName

/** What one node must enforce. */
export interface PolicyContent {
  readonly sets: ReadonlyMap<SetName, PolicySet>
  readonly policyChains: ReadonlyMap<ChainName, PolicyChain>
  readonly tierChains: ReadonlyMap<ChainName, TierChain>
  readonly denyChains: ReadonlyMap<ChainName, DenyChain>
  readonly podChains: ReadonlyMap<ChainName, PodChain>
  /** The addresses of all Pods of this node that are not on its network and have not finished. */
  readonly pods: Readonly<Record<Direction, ReadonlyMap<IpAddress, PodVerdict>>>
  /** The networks from which this node's Pods get their addresses. */
  readonly localRanges: readonly Cidr[]
}

/** What differs from the content of the last `takeChanges`. */
export interface PolicyChanges {
  /** Sets that appeared or vanished. */
  readonly sets: ReadonlySet<SetName>
  /** Members that were added or removed, in sets that are as old as the last changes: an address, or a `memberKey`. */
  readonly members: ReadonlyMap<SetName, ReadonlySet<string>>
  /** Chains of all kinds that appeared, changed or vanished. */
  readonly chains: ReadonlySet<ChainName>
  /** Addresses whose verdict appeared, changed or vanished. */
  readonly pods: Readonly<Record<Direction, ReadonlySet<IpAddress>>>
  readonly hasLocalRanges: boolean
  /** Whether a connection that was admitted may not be admitted any more. */
  readonly isNarrower: boolean
}

/** An object that appeared or changed, or vanished (`undefined`). */
export type PolicyEvent =
  | {
      readonly kind: 'policy'
      /** `namespace/name` */
      readonly key: string
      readonly value: NetworkPolicy | undefined
    }
  | {
      readonly kind: 'clusterPolicy'
      /** Its name. */
      readonly key: string
      readonly value: ClusterNetworkPolicy | undefined
    }
  | { readonly kind: 'namespace'; readonly name: string; readonly labels: Json | undefined }
  | {
      readonly kind: 'pod'
      /** `namespace/name` */
      readonly key: string
      readonly value: ClusterPod | undefined
    }
  | { readonly kind: 'node'; readonly podCIDRs: readonly Cidr[] }

/** A connection that conntrack knows of, after destination NAT and before source NAT. */
export interface PolicyFlow {
  readonly source: IpAddress
  readonly destination: IpAddress
  /** Any other protocol than those of ports is `other`. */
  readonly protocol: Protocol | 'other'
  /** Of the destination; 0 for a protocol without ports. */
  readonly port: number
}

/** Why a connection may not go on. */
export interface FlowRefusal {
  /** `egress`: of the source; `ingress`: of the destination. */
  readonly direction: Direction
  /**
   * `namespace/name` of the policies that isolate the Pod in this direction, none of which admits the connection, or the
   * name of the ClusterNetworkPolicy that denies it; empty if the namespace of the Pod is not known yet.
   */
  readonly policies: readonly string[]
  /** Whether a rule denies it, instead of none admitting it. */
  readonly isDenied?: true
}

/** The key of a member of a set of named ports: `10.0.0.1/TCP/80`. */
export function memberKey({ ip, protocol, port }: NamedPortMember): string {
  return `${ip}/${protocol}/${port}`
}

/** The member of a key of `memberKey`. */
export function memberOf(key: string): NamedPortMember {
  const [ip, protocol, port] = key.split('/') as [IpAddress, Protocol, string]
  return { ip, protocol, port: Number(port) }
}
