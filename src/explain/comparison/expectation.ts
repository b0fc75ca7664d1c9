import type { Endpoint } from '../packet/packet-state.ts'

/** What should become of the packet by the forwarding table of node-proxy. */
export interface Expectation {
  /** `unhandled`: no Service claims the packet, so that rules of node-proxy must not touch it. */
  readonly outcome: 'deliver' | 'reject' | 'drop' | 'unhandled'
  /** Whether no Service has address and port, so that a refusal leaves to others what they translate or have. */
  readonly isUnclaimed: boolean
  readonly backends: readonly (Endpoint & { readonly weight: number })[]
  /** Whether backends see an address of this node: `toItself` only for a backend that is the client. */
  readonly masquerade: 'yes' | 'no' | 'toItself' | undefined
  /** Clients keep their backend, so that one of them alone may be observed. */
  readonly hasAffinity: boolean
  /** Ports at which node-proxy listens to forward packets itself; the kernel's way ends there. */
  readonly ownPorts: ReadonlySet<number>
}
