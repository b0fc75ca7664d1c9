import { availableParallelism } from 'node:os'
import { ensureSetting, type Sysctl } from '../../kernel/sysctl.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

/** The upper limit of conntrack entries. */
const MAX_ENTRIES = 1_048_576
/** One hash bucket for four entries, as in kernels before 5.15; a larger number of buckets stays. */
const ENTRIES_PER_BUCKET = 4

/** Node ports on 127.0.0.1 need this setting in iptables mode, with a guard (CVE-2020-8558). */
export const ROUTE_LOCALNET = 'net/ipv4/conf/all/route_localnet'

/**
 * Sets the limits and timeouts of conntrack that the configuration requires, and
 * warns about settings that the network plugin should have set. A setting that cannot be written (a read-only
 * /proc/sys, an inner network namespace) is logged as a warning, because packets are forwarded without it.
 */
export function applySysctls(
  { conntrack }: Pick<NodeProxyConfiguration, 'conntrack'>,
  sysctl: Sysctl,
  log: Logger,
): void {
  for (const { sysctl: name, value, rule } of conntrackSettings(
    conntrack,
    availableParallelism(),
  )) {
    const path = name.replaceAll('.', '/')
    const isEnough = rule === 'atLeast' && Number(readSetting(sysctl, path)) >= value
    if (!isEnough) ensureSetting(path, String(value), { sysctl, log })
  }
  warnAbout(sysctl, log)
}

/** Whether packets for 127.0.0.0/8 are routed, by any program: to the kernel every value but 0 is 1. */
export function routesLocalnet(sysctl: Sysctl): boolean {
  return (readSetting(sysctl, ROUTE_LOCALNET) ?? '0') !== '0'
}

function readSetting(sysctl: Sysctl, path: string): string | undefined {
  try {
    return sysctl.read(path)
  } catch {
    return undefined
  }
}

/** Warns about settings of the network plugin without which some packets to Services are lost. */
function warnAbout(sysctl: Sysctl, log: Logger): void {
  const forward = 'net/ipv4/ip_forward'
  if (readSetting(sysctl, forward) === '0') {
    log.warn(
      { sysctl: forward },
      'IPv4 forwarding is off: only this node reaches backends elsewhere',
    )
  }
  const bridged = 'net/bridge/bridge-nf-call-iptables'
  if (readSetting(sysctl, bridged) === '0') {
    log.warn(
      { sysctl: bridged },
      'bridged packets bypass iptables: pods on one bridge may not reach each other through a Service; set net.bridge.bridge-nf-call-iptables=1',
    )
  }
}

/** One kernel setting. */
interface SysctlSetting {
  /** The name as sysctl(8) writes it, with dots. */
  readonly sysctl: string
  readonly value: number
  /** `atLeast`: a larger value in the kernel stays. */
  readonly rule: 'exact' | 'atLeast'
  /** The configuration field that requires it, for messages. */
  readonly field: string
}

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
  const max = Math.min(Math.max(maxPerCore * cores, min), MAX_ENTRIES)
  const [rule, field] = ['atLeast', 'conntrack.maxPerCore'] as const
  return [
    { sysctl: conntrackName('buckets'), value: Math.ceil(max / ENTRIES_PER_BUCKET), rule, field },
    { sysctl: conntrackName('max'), value: max, rule, field },
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
  return { sysctl: conntrackName(sysctl), value, rule: 'exact', field: `conntrack.${field}` }
}

function conntrackName(setting: string): string {
  return `net.netfilter.nf_conntrack_${setting}`
}
