import type { Brand } from '../lib/brand.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import type { Direction } from '../networkpolicy/network-policy.ts'
import type { Protocol } from '../resources/types.ts'

/** The name of a set: at most 60 letters, digits, `-` and `_`. It follows from what the set is to contain. */
export type SetName = Brand<string, 'PolicySetName'>

/** The name of a chain, of the same characters. */
export type ChainName = Brand<string, 'PolicyChainName'>

/** What rules compare addresses with; both families together. */
export type PolicySet =
  /** The addresses of all Pods of the cluster that one selector selects. */
  | { readonly kind: 'pods'; readonly members: ReadonlySet<IpAddress>; readonly comment: string }
  /** The addresses of one block without its exceptions; it never changes. */
  | { readonly kind: 'blocks'; readonly ranges: readonly AddressRange[]; readonly comment: string }
  /** The ports of all Pods of the cluster that have one name and protocol, by a key of their own. */
  | {
      readonly kind: 'namedPorts'
      readonly members: ReadonlyMap<string, NamedPortMember>
      readonly comment: string
    }

/** Both ends included, of one family. */
export interface AddressRange {
  readonly first: IpAddress
  readonly last: IpAddress
}

export interface NamedPortMember {
  readonly ip: IpAddress
  readonly protocol: Protocol
  readonly port: number
}

/** Ports of the destination, of one protocol. */
export interface PortMatch {
  readonly protocol: Protocol
  readonly ports: 'any' | PortRange | { readonly named: SetName }
}

/** Both ends included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Admits connections of these peers (the source for ingress, the destination for egress) to these ports. */
export interface ChainRule {
  readonly peers: 'any' | SetName
  /** `any`: of every protocol, also of those without ports. */
  readonly ports: 'any' | readonly PortMatch[]
}

/** What one policy admits in one direction. */
export interface PolicyChain {
  readonly direction: Direction
  /** `namespace/name` of the policy. */
  readonly policy: string
  readonly rules: readonly ChainRule[]
}

/** What Pods that the same policies isolate meet in one direction: these chains, and if none admits, the end. */
export interface PodChain {
  readonly direction: Direction
  /** Chains of policies, sorted by the names of the policies; at least one. */
  readonly policies: readonly ChainName[]
}

/** `accept`: no policy isolates the Pod in the direction. */
export type PodVerdict = 'accept' | ChainName

/** What one node enforces, without a form of the kernel. */
export interface PolicyContent {
  readonly sets: ReadonlyMap<SetName, PolicySet>
  readonly policyChains: ReadonlyMap<ChainName, PolicyChain>
  readonly podChains: ReadonlyMap<ChainName, PodChain>
  /** Every known Pod of this node, by its addresses. */
  readonly pods: Readonly<Record<Direction, ReadonlyMap<IpAddress, PodVerdict>>>
  /** The networks from which the Pods of this node have their addresses. */
  readonly localRanges: readonly Cidr[]
}

/** What is different since the changes were last taken; the present content has what it is now. */
export interface PolicyChanges {
  /** Sets that appeared or vanished. */
  readonly sets: ReadonlySet<SetName>
  /** Addresses, or keys of members, that were added to or removed from sets that stay. */
  readonly members: ReadonlyMap<SetName, ReadonlySet<string>>
  /** Chains of both kinds that appeared, changed or vanished. */
  readonly chains: ReadonlySet<ChainName>
  /** Addresses of Pods of this node with another verdict. */
  readonly pods: Readonly<Record<Direction, ReadonlySet<IpAddress>>>
  readonly hasLocalRanges: boolean
  /** Something that was admitted may not be admitted any more. */
  readonly isNarrower: boolean
}
