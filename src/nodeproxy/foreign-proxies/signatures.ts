import type { TableName } from '../../kernel/iptables/iptables.ts'

/** How another Service proxy shows on a node. */
export interface Signature {
  readonly proxy: string
  /** Its process, as the kernel names it. */
  readonly process: string
  readonly chains: readonly { readonly table: TableName; readonly chain: string }[]
  /** Tables of nftables, in the families `ip` and `ip6`. */
  readonly nftTables: readonly string[]
  readonly devices: readonly string[]
  /** What removes it for good. */
  readonly remedy: string
}

/** Only what they make in order to serve Services, so network policies alone are no sign. */
export const SIGNATURES: readonly Signature[] = [
  {
    proxy: 'kube-proxy',
    process: 'kube-proxy',
    chains: [{ table: 'nat', chain: 'KUBE-SERVICES' }],
    nftTables: ['kube-proxy'],
    devices: ['kube-ipvs0'],
    remedy: 'stop it and run kube-proxy --cleanup',
  },
  {
    proxy: 'kube-router',
    process: 'kube-router',
    chains: [{ table: 'filter', chain: 'KUBE-ROUTER-SERVICES' }],
    nftTables: [],
    devices: ['kube-dummy-if'],
    remedy: 'start it with --run-service-proxy=false, then run kube-router --cleanup-config',
  },
  {
    proxy: 'Cilium',
    process: 'cilium-agent',
    chains: [],
    nftTables: [],
    devices: ['cilium_host'],
    remedy:
      'Cilium translates cluster IPs of its pods itself: set kubeProxyReplacement as the page says',
  },
]
