import { deafMonitor } from '../../../kernel/nftables-monitor/deaf-monitor.ts'
import { MARTIANS } from '../../../modes/iptables/base.ts'
import { type IptablesDependencies, IptablesMode } from '../../../modes/iptables/mode.ts'
import { CHAIN } from '../../../modes/iptables/names.ts'
import { probeIptables } from '../../../modes/iptables/probe.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import { netfilterSettings } from '../node/netfilter-settings.ts'
import type { ModeKind, Situation } from './mode-kind.ts'

const MISSING = 'NP_IPTABLES_KERNEL'

/** Where changes by others are heard, reading everything back is only a second pair of eyes. */
const VERIFY_MS = 600_000

/** The iptables mode. All it needs of the kernel is open anyway. */
export function iptablesKind(kernel: IptablesDependencies): ModeKind {
  const settings = ({ config, node, facts }: Situation) => netfilterSettings(config, node, facts)
  return {
    name: 'iptables',
    demands: () => undefined,
    async prepare(situation) {
      const { missing, facts } = await probeIptables(kernel, settings(situation))
      return { lacks: missing.map((lack) => ({ code: MISSING, ...lack })), facts }
    },
    blueprint(situation) {
      const mine = settings(situation)
      const { syncPeriod, minSyncPeriod } = situation.config.iptables
      return {
        mode: 'iptables',
        settings: mine,
        minPeriodMs: minSyncPeriod,
        verifyPeriodMs: kernel.monitor === deafMonitor ? syncPeriod : VERIFY_MS,
        build: () => new IptablesMode(mine, kernel),
      }
    },
    periods: ({ iptables }) => iptables,
    tune: () => {},
    loopbackGuards,
    isServing: async () =>
      (await kernel.iptables.listChain(4, 'nat', CHAIN.services)) !== undefined,
    leftovers: (situation) => ({
      retire: (signal) => new IptablesMode(settings(situation()), kernel).retire(signal),
    }),
    recover: async () => {},
    close: async () => {},
  }
}

function loopbackGuards({ iptables }: NodeProxyConfiguration) {
  return iptables.localhostNodePorts ? MARTIANS : undefined
}
