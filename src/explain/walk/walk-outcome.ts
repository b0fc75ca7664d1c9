import type { IpAddress } from '../../lib/ip.ts'
import type { Step } from '../packet/branch.ts'
import type { Endpoint } from '../packet/packet-state.ts'

/** What happens to the first packet of a connection, with its probability (0 to 1). */
export type WalkOutcome = { readonly probability: number; readonly steps: readonly Step[] } & (
  | {
      readonly kind: 'delivered'
      /** `local`: delivered to a process of this node; `forwarded`: leaves through `outInterface`. */
      readonly to: 'local' | 'forwarded'
      readonly dst: Endpoint
      /** The source that the receiver sees. */
      readonly src: IpAddress
      readonly outInterface: string | undefined
    }
  /** The sender gets an error at once: `tcp-reset`, `icmp-port-unreachable`. */
  | { readonly kind: 'refused'; readonly how: string }
  | {
      /** The sender gets no answer. */
      readonly kind: 'silent'
      /** Who dropped the packet, and why. */
      readonly by: string
      /** The destination that the packet had, if rules of NetworkPolicies dropped it. */
      readonly refusedTo?: Endpoint
    }
  | { readonly kind: 'uncertain'; readonly reason: string }
)
