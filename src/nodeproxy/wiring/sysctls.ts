import { availableParallelism } from 'node:os'
import type { Sysctl } from '../../kernel/sysctl/sysctl.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/configuration.ts'
import { conntrackSettings } from '../conntrack-limits.ts'

/**
 * Kernel settings that the configuration asks for. One that cannot be written
 * (a read-only /proc/sys, an inner network namespace) is a warning: packets flow
 * all the same.
 */
export function applySysctls(config: NodeProxyConfiguration, sysctl: Sysctl, log: Logger): void {
  const ensure = (path: string, value: string) => {
    try {
      if (sysctl.ensure(path, value)) log.info({ sysctl: path, value }, 'set a kernel setting')
    } catch (error) {
      log.warn({ err: error, sysctl: path, value }, 'a kernel setting stays as it is')
    }
  }
  for (const { sysctl: name, value, rule } of conntrackSettings(
    config.conntrack,
    availableParallelism(),
  )) {
    const path = name.replaceAll('.', '/')
    const present = Number(sysctl.read(path))
    if (rule === 'exact' || !(present >= value)) ensure(path, String(value))
  }
  if (config.iptables.localhostNodePorts) ensure('net/ipv4/conf/all/route_localnet', '1')
  warnAbout(sysctl, log)
}

/** Settings that belong to the network plugin; without them Services seem broken. */
function warnAbout(sysctl: Sysctl, log: Logger): void {
  if (sysctl.read('net/ipv4/ip_forward') === '0') {
    log.warn(
      { sysctl: 'net/ipv4/ip_forward' },
      'IPv4 forwarding is off: only this node reaches backends elsewhere',
    )
  }
  if (sysctl.read('net/bridge/bridge-nf-call-iptables') === '0') {
    log.warn(
      { sysctl: 'net/bridge/bridge-nf-call-iptables' },
      'bridged packets pass by iptables: pods on one bridge may not reach each other through a Service',
    )
  }
}
