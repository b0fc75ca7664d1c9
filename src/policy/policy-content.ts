import type { Brand } from '../lib/brand.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'

export type Direction = 'ingress' | 'egress'
export type Protocol = 'TCP' | 'UDP' | 'SCTP'
export type SetName = Brand<string, 'PolicySetName'>
export type ChainName = Brand<string, 'PolicyChainName'>

export interface PolicySetPods {
  readonly kind: 'pods'
  readonly members: ReadonlySet<IpAddress>
  readonly comment: string
}

export type PolicySet =
  | PolicySetPods
  | {
      readonly kind: 'blocks'
      readonly ranges: readonly { readonly first: IpAddress; readonly last: IpAddress }[]
    }
  | {
      readonly kind: 'namedPorts'
      readonly members: ReadonlyMap<
        string,
        { readonly ip: IpAddress; readonly protocol: Protocol; readonly port: number }
      >
    }

export interface PortMatch {
  readonly protocol: Protocol
  readonly ports:
    | 'any'
    | readonly { readonly first: number; readonly last: number }[]
    | { readonly named: SetName }
}

export interface ChainRule {
  readonly peers: 'any' | SetName
  readonly ports: 'any' | readonly PortMatch[]
}

export interface PolicyChain {
  readonly direction: Direction
  readonly policy: string
  readonly rules: readonly ChainRule[]
}

export interface PodChain {
  readonly direction: Direction
  readonly policies: readonly ChainName[]
}

export type PodVerdict = 'accept' | ChainName

export interface PolicyContent {
  readonly sets: ReadonlyMap<SetName, PolicySet>
  readonly policyChains: ReadonlyMap<ChainName, PolicyChain>
  readonly podChains: ReadonlyMap<ChainName, PodChain>
  readonly pods: Readonly<Record<Direction, ReadonlyMap<IpAddress, PodVerdict>>>
  readonly localRanges: readonly Cidr[]
}

export interface PolicyChanges {
  readonly sets: ReadonlySet<SetName>
  readonly members: ReadonlyMap<SetName, ReadonlySet<string>>
  readonly chains: ReadonlySet<ChainName>
  readonly pods: Readonly<Record<Direction, ReadonlySet<IpAddress>>>
  readonly hasLocalRanges: boolean
  readonly isNarrower: boolean
}
