import type { Cidr } from '../lib/ip.ts'
import type { Json } from '../lib/json.ts'
import type { Protocol } from '../resources/types.ts'

/** `ingress`: connections to the selected Pods; `egress`: connections that they open. */
export type Direction = 'ingress' | 'egress'

/** A NetworkPolicy with the defaults of the API filled in. */
export interface NetworkPolicy {
  /** `namespace/name` */
  readonly key: string
  readonly namespace: string
  /** A label selector for Pods of its namespace. */
  readonly podSelector: Json
  /**
   * The rules of each direction in which the policy isolates its Pods; a direction is absent if the policy does not
   * apply to it.
   */
  readonly rules: Readonly<Partial<Record<Direction, readonly PolicyRule[]>>>
}

/** The connections that one rule admits: of any of these peers, to any of these ports. */
export interface PolicyRule {
  readonly peers: readonly PolicyPeer[] | 'any'
  readonly ports: readonly PolicyPort[] | 'any'
}

/** The other end of a connection. */
export type PolicyPeer =
  /** Pods of the selected namespaces; without `namespaceSelector` those of the policy's namespace. */
  | { readonly kind: 'pods'; readonly namespaceSelector?: Json; readonly podSelector?: Json }
  | { readonly kind: 'block'; readonly cidr: Cidr; readonly except: readonly Cidr[] }

/** A port of the destination. */
export interface PolicyPort {
  readonly protocol: Protocol
  /** A range of numbers, or the name of a container port; absent: every port. */
  readonly port?: string | { readonly first: number; readonly last: number }
}
