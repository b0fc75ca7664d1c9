import { availableParallelism } from 'node:os'
import { ensureSetting } from '../../../kernel/sysctl/ensure-setting.ts'
import type { Sysctl } from '../../../kernel/sysctl/sysctl.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import { conntrackSettings } from './conntrack-limits.ts'

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
