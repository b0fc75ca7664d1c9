import { type Nftables, readOnlyNftables } from '../../../kernel/nftables/nftables.ts'
import type { TouchedObject } from '../../../kernel/nftables/object-collector.ts'
import type { RuleMonitor } from '../../../kernel/nftables/rule-monitor.ts'
import { type Family, hostPort } from '../../../lib/ip.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import type { MissingRequirement, ObjectKey } from '../../mode.ts'
import type { RulesAccess } from '../../netfilter/access.ts'
import { netfilterSettings } from '../../netfilter/settings/netfilter-settings.ts'
import type { ModeInputs, NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { createManagedState } from '../kernel/managed-state.ts'
import { observe } from '../kernel/observe.ts'
import { CHAIN, tableOf } from '../keys/names.ts'
import { keyOf, objectOf } from '../keys/object-key.ts'
import { NftablesMode } from '../mode.ts'
import { probeNftables } from '../probe.ts'

/** The nftables mode's own part of the configuration. Times are milliseconds. */
export interface NftablesConfiguration {
  readonly nftables: {
    /** Kubernetes' own field for this mode: masquerades like `iptables.masqueradeAll`, which holds for all modes. */
    readonly masqueradeAll: boolean
    /** Count connections, packets and bytes of each Service. */
    readonly trafficCounters: boolean
    readonly syncPeriod: number
    readonly minSyncPeriod: number
  }
}

const MISSING = 'NP_NFTABLES_KERNEL'

/** Foreign changes are reported, and so are lost reports, so reading everything back is only a second check. */
const VERIFY_MS = 3_600_000

/** The chain that protects 127.0.0.0/8. */
const GUARDS: readonly ObjectKey[] = [keyOf(4, 'chain', CHAIN.filterInput)]

/** A socket for requests to nf_tables, and one for its notifications. */
export interface NftablesRuntime {
  readonly nftables: Nftables
  readonly monitor: RuleMonitor<TouchedObject>
}

/** What the driver needs of the machine. */
export interface NftablesDriverParts {
  readonly families: readonly Family[]
  /** For the guard that node ports on loopback need: it outlives the mode, and iptables writes it. */
  readonly iptables: RulesAccess
  readonly open: () => Promise<NftablesRuntime>
}

/** The nftables mode in this daemon. */
export function nftablesDriver(parts: NftablesDriverParts): ModeDriver<NftablesConfiguration> {
  let opened: NftablesRuntime | undefined
  const open = async () => (opened ??= await parts.open())
  const close = async () => {
    opened?.nftables.close()
    opened = undefined
  }
  /** The kernel's own masquerade supports all options. */
  const settings = (inputs: ModeInputs<NftablesConfiguration>) => {
    const { config, facts } = inputs
    const common = netfilterSettings({ ...inputs, facts: { ...facts, randomFully: true } })
    const masqueradeAll = common.masqueradeAll || config.nftables.masqueradeAll
    const counting = config.nftables.trafficCounters ? ({ countsTraffic: true } as const) : {}
    return { ...common, ...counting, masqueradeAll, families: parts.families }
  }
  return {
    name: 'nftables',
    periods: ({ nftables }) => nftables,
    demands: ({ iptables, nftables }) => [iptables.localhostNodePorts, nftables.trafficCounters],
    async prepare(inputs) {
      const wasOpen = opened !== undefined
      const { nftables } = await open()
      const { missing, facts } = await probeNftables(nftables, settings(inputs))
      const requirements: MissingRequirement[] = missing.map((each) => ({ code: MISSING, ...each }))
      if (inputs.config.iptables.localhostNodePorts && !parts.iptables.ok) {
        requirements.push(parts.iptables.missing)
      }
      const caveats = await forwardCaveats(nftables, parts.families)
      if (requirements.length > 0 && !wasOpen) await close()
      return { missing: requirements, caveats, facts }
    },
    spec(inputs) {
      const runtime = opened
      if (runtime === undefined) throw new TypeError('the nftables mode is not prepared')
      const own = settings(inputs)
      const { minSyncPeriod } = inputs.config.nftables
      return {
        mode: 'nftables',
        settings: own,
        minPeriodMs: minSyncPeriod,
        verifyPeriodMs: VERIFY_MS,
        build: () => new NftablesMode(own, runtime),
      }
    },
    view: async (inputs) => viewNftables(settings(inputs), (await open()).nftables),
    tune: () => {},
    loopbackGuards: ({ iptables }) => (iptables.localhostNodePorts ? GUARDS : undefined),
    isServing: async () => (await (await open()).nftables.read(tableOf(4))) !== undefined,
    leftovers: (inputs) => ({
      async drainAndCleanup(signal) {
        const runtime = await open()
        await new NftablesMode(settings(inputs()), runtime).drainAndCleanup(signal)
      },
    }),
    recover: async () => {},
    close,
  }
}

/** A read-only view of the nftables mode. */
export async function viewNftables(
  settings: NetfilterSettings,
  kernel: Nftables,
): Promise<ModeView> {
  const nftables = readOnlyNftables(kernel)
  const state = createManagedState(settings, { nftables })
  const { program } = state
  const caveats = await forwardCaveats(nftables, settings.families)
  return {
    program,
    caveats,
    ownPorts: new Set(),
    drains: false,
    isInProcess: () => false,
    observe: () => observe(state),
    /** For a frontend its backends, as the elements of its maps name them. */
    wantedLines(key) {
      const entry = objectOf(key).kind === 'frontend' ? program.entryOf(key) : undefined
      if (entry === undefined) return []
      const { cluster, local } = entry.pools
      const backends = new Set([...cluster, ...local].map(({ ip, port }) => hostPort(ip, port)))
      return backends.size === 0 ? ['no backend'] : [...backends].map((one) => `to ${one}`)
    },
    heldLines: async () => undefined,
    close: async () => {},
  }
}

/**
 * Whether the chain FORWARD of `iptables-nft` drops what no rule accepts, as Docker configures it. Our rules cannot
 * accept a packet on behalf of another table.
 */
export async function forwardCaveats(
  nftables: Nftables,
  families: readonly Family[],
): Promise<readonly MissingRequirement[]> {
  const caveats: MissingRequirement[] = []
  for (const family of families) {
    const filter = await nftables.read({ family, name: 'filter' })
    if (filter?.chains.get('FORWARD')?.spec.hook?.dropsByDefault !== true) continue
    const program = family === 4 ? 'iptables' : 'ip6tables'
    caveats.push({
      code: 'NP_NFTABLES_FORWARD',
      what: `the policy of chain FORWARD of ${program} is DROP, which drops packets to endpoints in nftables mode`,
      remedy: `${program} -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT, or mode: iptables`,
    })
  }
  return caveats
}
