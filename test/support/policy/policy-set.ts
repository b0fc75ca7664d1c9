import type { Transport } from '../agent/protocol.ts'

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
    readonly values?: readonly string[]
  }[]
}

export interface Peer {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

export interface PortRule {
  readonly protocol?: Transport
  readonly port?: number | string
  readonly endPort?: number
}

export interface Rule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly PortRule[]
}

/** A NetworkPolicy as the API has it. */
export interface Policy {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly spec: {
    readonly podSelector: Selector
    readonly policyTypes?: readonly ('Ingress' | 'Egress')[]
    readonly ingress?: readonly Rule[]
    readonly egress?: readonly Rule[]
  }
}

/** What a cluster holds while one truth table is probed. */
export interface PolicySet {
  readonly name: string
  readonly policies: readonly Policy[]
  /** Labels that some Pods have besides their own, by `namespace/name`. */
  readonly podLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Labels that some namespaces have besides their own. */
  readonly namespaceLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>
}
