import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { NODE_NAME } from './plan.ts'

/** Fields of NodeProxyConfiguration that tests vary; the rest keeps its default. */
export interface ProxyConfig {
  readonly mode?: 'iptables' | 'ipvs' | 'nftables' | 'userspace'
  readonly clusterCIDR?: string
  readonly detectLocalMode?: string
  readonly detectLocal?: Readonly<Record<string, string>>
  readonly nodePortAddresses?: readonly string[]
  readonly iptables?: Readonly<Record<string, string | number | boolean>>
  readonly [field: string]: unknown
}

/**
 * The daemon's configuration file. Changes are applied almost at once, so that
 * a test waits for the daemon and not for its throttle.
 */
export function daemonConfigText(config: ProxyConfig, kubeconfig: string): string {
  return stringify({
    apiVersion: 'proxy.config.orch.io/v1alpha1',
    kind: 'NodeProxyConfiguration',
    hostnameOverride: NODE_NAME,
    mode: proxyMode(),
    clusterCIDR: '10.0.0.0/8,fd00:10::/64',
    detectLocalMode: 'ClusterCIDR',
    inspection: { socket: join(dirname(kubeconfig), 'inspect.sock') },
    ...config,
    clientConnection: { kubeconfig },
    iptables: { minSyncPeriod: '20ms', syncPeriod: '30s', ...config.iptables },
  })
}

/** Mode under test: `NP_PROXY_MODE`, iptables unless set. */
export function proxyMode(): string {
  return process.env['NP_PROXY_MODE'] ?? 'iptables'
}

export function isIpvs(): boolean {
  return proxyMode() === 'ipvs'
}

/**
 * Whether the daemon itself forwards: then backends see the node, and nothing is served while the daemon is stopped.
 */
export function isUserspace(): boolean {
  return proxyMode() === 'userspace'
}

/** Flags for the iptables variant under test: `NP_IPTABLES_BACKEND` (nft or legacy), the machine's unless set. */
export function backendFlags(): string[] {
  const backend = process.env['NP_IPTABLES_BACKEND'] ?? ''
  return backend === '' ? [] : [`--iptables-backend=${backend}`]
}

/** The program `iptables`, `ip6tables-save`, … of the variant under test. */
export function backendProgram(program: string): string {
  const backend = process.env['NP_IPTABLES_BACKEND'] ?? ''
  return backend === '' ? program : program.replace('tables', `tables-${backend}`)
}
