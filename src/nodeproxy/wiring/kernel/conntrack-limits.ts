import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'

/** One kernel setting. */
export interface SysctlSetting {
  /** The name as sysctl(8) writes it, with dots. */
  readonly sysctl: string
  readonly value: number
  /** `atLeast`: a larger value in the kernel stays. */
  readonly rule: 'exact' | 'atLeast'
  /** The configuration field that requires it, for messages. */
  readonly field: string
}

/** The upper limit of conntrack entries. */
const MAX = 1_048_576
/** One hash bucket for four entries, as in kernels before 5.15; a larger number of buckets stays. */
const ENTRIES_PER_BUCKET = 4

/** The conntrack settings that the configuration requires; none for fields that leave the kernel's value. */
export function conntrackSettings(
  conntrack: NodeProxyConfiguration['conntrack'],
  cores: number,
): readonly SysctlSetting[] {
  return [
    ...limits(conntrack, cores),
    ...seconds('tcp_timeout_established', 'tcpEstablishedTimeout', conntrack),
    ...seconds('tcp_timeout_close_wait', 'tcpCloseWaitTimeout', conntrack),
    ...(conntrack.tcpBeLiberal ? [exact('tcp_be_liberal', 1, 'tcpBeLiberal')] : []),
    ...seconds('udp_timeout', 'udpTimeout', conntrack),
    ...seconds('udp_timeout_stream', 'udpStreamTimeout', conntrack),
  ]
}

function limits(
  { maxPerCore, min }: NodeProxyConfiguration['conntrack'],
  cores: number,
): readonly SysctlSetting[] {
  if (maxPerCore === 0) return []
  const max = Math.min(Math.max(maxPerCore * cores, min), MAX)
  const [rule, field] = ['atLeast', 'conntrack.maxPerCore'] as const
  return [
    { sysctl: name('buckets'), value: Math.ceil(max / ENTRIES_PER_BUCKET), rule, field },
    { sysctl: name('max'), value: max, rule, field },
  ]
}

/** Milliseconds as the kernel's whole seconds, rounded up so that none becomes 0. */
function seconds(
  sysctl: string,
  field: 'tcpEstablishedTimeout' | 'tcpCloseWaitTimeout' | 'udpTimeout' | 'udpStreamTimeout',
  conntrack: NodeProxyConfiguration['conntrack'],
): readonly SysctlSetting[] {
  const ms = conntrack[field]
  return ms === 0 ? [] : [exact(sysctl, Math.ceil(ms / 1_000), field)]
}

function exact(sysctl: string, value: number, field: string): SysctlSetting {
  return { sysctl: name(sysctl), value, rule: 'exact', field: `conntrack.${field}` }
}

function name(setting: string): string {
  return `net.netfilter.nf_conntrack_${setting}`
}
