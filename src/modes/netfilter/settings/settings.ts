import type { Cidr, Family } from '../../../lib/ip.ts'
import type { NodePortScope } from './node-port-scope.ts'

/** How packets of pods are recognised; at most one CIDR per family. */
export type LocalTraffic =
  | { readonly by: 'source'; readonly cidrs: readonly Cidr[] }
  | { readonly by: 'bridge'; readonly name: string }
  | { readonly by: 'interfacePrefix'; readonly prefix: string }
  | { readonly by: 'none' }

/** What the NAT rules that all Services share depend on besides the entries. */
export interface NetfilterSettings {
  /** 0–31; the mark is `1 << masqueradeBit`. */
  readonly masqueradeBit: number
  /** Masquerade every packet to a ClusterIP, from any source. */
  readonly masqueradeAll: boolean
  readonly localTraffic: LocalTraffic
  readonly nodePortScope: NodePortScope
  /** IPv4 only: serve node ports on the loopback addresses in scope (needs route_localnet=1). */
  readonly localhostNodePorts: boolean
  /** IPv4 only: drop foreign packets for 127.0.0.0/8, because route_localnet is or will be 1. */
  readonly dropMartians: boolean
  /** Drop packets that conntrack calls invalid instead of forwarding them un-NATed. */
  readonly dropInvalid: boolean
  /** Masqueraded connections get a random source port; false: they keep their client's port if it is free. */
  readonly randomFully: boolean
  /** How a pod's connection to itself through a VIP is recognised; see hairpin.ts. */
  readonly hairpin: 'bpf' | 'rules'
  /** Whether rules can match packets that have a socket (xt_socket); absent if they cannot. */
  readonly matchesSockets?: boolean
  /** Count connections, packets and bytes of each Service; absent: nothing is counted. Only the nftables mode reads it. */
  readonly countsTraffic?: true
  /** Networks of Services in which addresses and ports that no Service has are refused; absent if none are known. */
  readonly serviceRanges?: readonly Cidr[]
  readonly families: readonly Family[]
}
