import { readOnlySets, type Sets } from '../../kernel/ipset/sets.ts'
import { type Iptables, readOnlyIptables } from '../../kernel/iptables/iptables.ts'
import { noopMonitor } from '../../kernel/nftables/nftables-monitor.ts'
import type { RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import type { FieldsOf } from '../../settings/field.ts'
import { duration } from '../../settings/scalar-types.ts'
import { deniedDriver } from '../definition/denied-driver.ts'
import type { CleanupHost, ModeDefinition, ModeHost } from '../definition/mode-definition.ts'
import type { ModeDriver } from '../definition/mode-driver.ts'
import type { ModeView } from '../definition/mode-view.ts'
import { missingRules } from '../netfilter/access.ts'
import { openMonitor } from '../netfilter/chains/foreign-change.ts'
import { RuleLines } from '../netfilter/rule-lines.ts'
import { cleanupSettings, netfilterSettings } from '../netfilter/settings/netfilter-settings.ts'
import type { ModeInputs, NetfilterSettings } from '../netfilter/settings/settings.ts'
import { MARTIANS } from './base-rules.ts'
import { GAPS, type IptablesDependencies, IptablesMode } from './mode.ts'
import { CHAIN, OWNED_CHAINS } from './names.ts'
import { probeIptables } from './probe.ts'

const MISSING = 'NP_IPTABLES_KERNEL'

/** Foreign changes are reported where the kernel allows it, so reading everything back is only a second check. */
const VERIFY_MS = 600_000

/** The settings of the iptables mode alone. */
const iptablesFields: FieldsOf<IptablesConfiguration> = {
  'iptables.syncPeriod': {
    flag: 'iptables-sync-period',
    type: duration(1),
    fallback: 30_000,
    doc: 'How long a failed change waits at most for its next try. The daemon is unhealthy when a change is older than twice this.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'iptables.minSyncPeriod': {
    flag: 'iptables-min-sync-period',
    type: duration(),
    fallback: 0,
    doc: 'The shortest time between two changes of the kernel. The first change after a quiet time is made at once; after each one the daemon rests for half of what it took, so that 0 is safe.',
    reload: 'live',
    zeroIsUnset: true,
  },
}

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

/** What the driver needs of the machine. */
interface IptablesDriverParts extends Pick<IptablesDependencies, 'iptables' | 'sets'> {
  /** Reports foreign changes of the mode's chains. */
  readonly openMonitor: () => Promise<RuleMonitor>
}

/** The iptables mode in this daemon; it opens only the monitor of its chains. */
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

/** A read-only view of the iptables mode. */
export function viewIptables(
  settings: NetfilterSettings,
  kernel: { readonly iptables: Iptables; readonly sets: Sets },
): ModeView {
  const iptables = readOnlyIptables(kernel.iptables)
  const sets = readOnlySets(kernel.sets)
  const mode = new IptablesMode(settings, { iptables, sets, monitor: noopMonitor })
  const { program } = mode
  const rules = new RuleLines(program, iptables)
  return {
    program,
    caveats: [],
    ownPorts: new Set(),
    drains: false,
    isInProcess: () => false,
    observe: () => mode.observe(),
    wantedLines: (key) => rules.wanted(key),
    heldLines: (key) => rules.held(key),
    close: async () => {},
  }
}

/** The iptables mode's own part of the configuration. Times are milliseconds. */
interface IptablesConfiguration {
  readonly iptables: {
    readonly syncPeriod: number
    readonly minSyncPeriod: number
  }
}
