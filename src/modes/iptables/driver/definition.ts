import { noopMonitor } from '../../../kernel/nftables-monitor/noop-monitor.ts'
import { deniedDriver } from '../../definition/denied-driver.ts'
import type { CleanupHost, ModeDefinition, ModeHost } from '../../definition/mode-definition.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import { missingRules } from '../../netfilter/access.ts'
import { openMonitor } from '../../netfilter/open-monitor.ts'
import { cleanupSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { GAPS } from '../gaps.ts'
import { IptablesMode } from '../mode.ts'
import { CHAIN, OWNED_CHAINS } from '../names.ts'
import type { IptablesConfiguration } from './configuration.ts'
import { iptablesFields } from './fields.ts'
import { iptablesDriver } from './iptables-driver.ts'

/** The iptables mode. */
export const iptables: ModeDefinition<IptablesConfiguration> = {
  name: 'iptables',
  gaps: GAPS,
  fields: iptablesFields,
  loopbackGuard: CHAIN.martians,
  periods: (config) => config.iptables,
  conflicts: () => [],
  requirements: (_config, access) => missingRules(access),
  createDriver,
  cleanup,
}

function createDriver(host: ModeHost): ModeDriver<IptablesConfiguration> {
  const { netfilter, families, clock } = host
  if (!netfilter.ok) return deniedDriver(iptables, netfilter.missing)
  const { parts } = netfilter
  return iptablesDriver({
    iptables: parts.iptables,
    sets: parts.sets,
    openMonitor: () => openMonitor(parts.iptables, { clock, families, owned: OWNED_CHAINS }),
  })
}

/** Rules first: those of another iptables variant may still name a set. */
function cleanup({ iptables: kernel, sets, families, config }: CleanupHost) {
  const settings = cleanupSettings(config, families)
  const mode = new IptablesMode(settings, { iptables: kernel, sets, monitor: noopMonitor })
  return [() => mode.removeRules(), () => mode.cleanup()]
}
