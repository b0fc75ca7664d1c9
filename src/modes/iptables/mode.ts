import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import type {
  ApplyResult,
  Change,
  Digest,
  ForeignChange,
  Mode,
  ObjectKey,
  Probe,
  ReadTraffic,
} from '../mode.ts'
import { ChainKeeper } from '../netfilter/chains/chain-keeper.ts'
import { keyOf } from '../netfilter/chains/object.ts'
import type { ChainLocation } from '../netfilter/chains/place.ts'
import { demandRemoved } from '../netfilter/chains/removal.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { AffinitySets } from './affinity-sets.ts'
import { jumps } from './base.ts'
import { rankOf } from './chain-rank.ts'
import { GAPS } from './gaps.ts'
import { OWNED_CHAINS } from './names.ts'
import { probeIptables } from './probe.ts'
import { IptablesProgram } from './program.ts'
import { isSetKey } from './set-key.ts'
import { DnatCounters } from './traffic/dnat-counters.ts'

/** What an instance is built on; the instance closes none of it. */
export interface IptablesDependencies {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly monitor: RuleMonitor
}

/** The iptables mode: the contract of `../mode.ts` over chains and IP sets. */
export class IptablesMode implements Mode {
  readonly name = 'iptables'
  readonly gaps = GAPS
  readonly refusedRanges: NetfilterSettings['serviceRanges']
  readonly program: IptablesProgram
  readonly readTraffic: ReadTraffic
  readonly #kernel: IptablesDependencies
  readonly #settings: NetfilterSettings
  readonly #chains: ChainKeeper
  readonly #sets: AffinitySets
  readonly #counters: DnatCounters

  constructor(settings: NetfilterSettings, kernel: IptablesDependencies) {
    const program = new IptablesProgram(settings)
    this.#settings = settings
    this.refusedRanges = settings.serviceRanges
    this.#kernel = kernel
    this.program = program
    this.#counters = new DnatCounters({ ...kernel, families: settings.families, program })
    this.readTraffic = (isWanted) => this.#counters.read(isWanted)
    this.#sets = new AffinitySets(kernel.sets, (key) => program.setTypeOf(key))
    this.#chains = new ChainKeeper({
      ...OWNED_CHAINS,
      iptables: kernel.iptables,
      monitor: kernel.monitor,
      families: settings.families,
      contents: {
        rankOf,
        rulesOf: (key) => program.rulesOf(key),
        jumpsIn: (place) => jumpsIn(settings, place),
      },
    })
  }

  probe(): Promise<Probe> {
    return probeIptables(this.#kernel, this.#settings)
  }

  /** Sets are created before the rules that name them, and destroyed after those. */
  async apply({ set, unset }: Change): Promise<ApplyResult> {
    const created = await this.#sets.create(set.filter(isSetKey))
    const chains = { set: set.filter(isRuleKey), unset: unset.filter(isRuleKey) }
    const result = await this.#counters.around(chains.set, () => this.#chains.apply(chains))
    const destroyed = await this.#sets.destroy(unset.filter(isSetKey))
    return { ...result, failed: new Map([...created, ...result.failed, ...destroyed]) }
  }

  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const chains = await this.#chains.observe(keys?.filter(isRuleKey))
    const sets = keys?.filter(isSetKey)
    if (sets?.length === 0) return chains
    return new Map([...chains, ...(await this.#sets.observe(sets))])
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    return this.#chains.watch(onForeignChange)
  }

  async cleanup(): Promise<void> {
    const seen = await this.observe()
    const { failed } = await this.apply({ set: [], unset: [...seen.keys()] })
    demandRemoved(failed)
  }

  /** Conntrack translates established connections without our rules, so none has to be waited for. */
  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.cleanup()
  }

  /** The part of `cleanup` that other rules may wait for: everything but the sets. */
  removeRules(): Promise<void> {
    return this.#chains.removeAll()
  }
}

function isRuleKey(key: ObjectKey): boolean {
  return !isSetKey(key)
}

function jumpsIn(settings: NetfilterSettings, place: ChainLocation): readonly ObjectKey[] {
  return jumps(settings, place.family)
    .filter(({ table, chain }) => table === place.table && chain === place.chain)
    .map(keyOf)
}
