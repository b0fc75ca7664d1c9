import { noopMonitor } from '../../../kernel/nftables-monitor/noop-monitor.ts'
import type { RuleMonitor } from '../../../kernel/nftables-monitor/rule-monitor.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import type { ModeInputs } from '../../netfilter/settings/mode-inputs.ts'
import { netfilterSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { MARTIANS } from '../base.ts'
import { type IptablesDependencies, IptablesMode } from '../mode.ts'
import { CHAIN } from '../names.ts'
import { probeIptables } from '../probe.ts'
import type { IptablesConfiguration } from './configuration.ts'
import { viewIptables } from './view-iptables.ts'

const MISSING = 'NP_IPTABLES_KERNEL'

/** Where foreign changes are reported, reading everything back is only a second check. */
const VERIFY_MS = 600_000

/** What the driver needs of the machine. */
export interface IptablesDriverParts extends Pick<IptablesDependencies, 'iptables' | 'sets'> {
  /** Reports foreign changes of the mode's chains. */
  readonly openMonitor: () => Promise<RuleMonitor>
}

/** The iptables mode in this daemon; all it opens is the monitor of its chains. */
export function iptablesDriver(parts: IptablesDriverParts): ModeDriver<IptablesConfiguration> {
  let monitor: RuleMonitor | undefined
  const kernel = () => ({ ...parts, monitor: monitor ?? noopMonitor })
  const settings = (inputs: ModeInputs) => netfilterSettings(inputs)
  return {
    name: 'iptables',
    periods: ({ iptables }) => iptables,
    demands: () => undefined,
    async prepare(inputs) {
      monitor ??= await parts.openMonitor()
      const { missing, facts } = await probeIptables(parts, settings(inputs))
      return { missing: missing.map((each) => ({ code: MISSING, ...each })), facts }
    },
    spec(inputs) {
      const own = settings(inputs)
      const { syncPeriod, minSyncPeriod } = inputs.config.iptables
      return {
        mode: 'iptables',
        settings: own,
        minPeriodMs: minSyncPeriod,
        verifyPeriodMs: kernel().monitor === noopMonitor ? syncPeriod : VERIFY_MS,
        build: () => new IptablesMode(own, kernel()),
      }
    },
    view: async (inputs) => viewIptables(settings(inputs), parts),
    tune: () => {},
    loopbackGuards: ({ iptables }) => (iptables.localhostNodePorts ? MARTIANS : undefined),
    isServing: async () => (await parts.iptables.listChain(4, 'nat', CHAIN.services)) !== undefined,
    leftovers: (inputs) => ({
      drainAndCleanup: (signal) =>
        new IptablesMode(settings(inputs()), kernel()).drainAndCleanup(signal),
    }),
    recover: async () => {},
    close: async () => {},
  }
}
