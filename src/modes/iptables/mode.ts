import type { SetCommand, Sets, SetType } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import type {
  ApplyResult,
  Change,
  Digest,
  ForeignChange,
  Gap,
  KernelError,
  Mode,
  ObjectKey,
  Probe,
  ReadTraffic,
} from '../mode.ts'
import { ChainKeeper } from '../netfilter/chains/chain-keeper.ts'
import { demandRemoved } from '../netfilter/chains/plan.ts'
import { nameOf, ofKind, PRESENT, setKey } from '../netfilter/object-key.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { DnatCounters } from './dnat-counters.ts'
import { OWNED_CHAINS, PREFIX } from './names.ts'
import { probeIptables } from './probe.ts'
import { IptablesProgram } from './program.ts'

/** What this mode cannot do, and why. docs/semantics.md shows the list. */
export const GAPS: readonly Gap[] = [
  { scenario: 'endpoint weights', reason: 'every endpoint of a Service is equally likely' },
  { scenario: 'IPVS schedulers', reason: 'the choice is always random' },
]

/** The dependencies of an instance, which does not close them. */
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
      contents: program,
    })
  }

  probe(): Promise<Probe> {
    return probeIptables(this.#kernel, this.#settings)
  }

  /** Sets are created before the rules that name them, and destroyed after those. */
  async apply({ set, unset }: Change): Promise<ApplyResult> {
    const created = await this.#sets.create(ofKind(set, 'set'))
    const chains = { set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') }
    const result = await this.#counters.around(chains.set, () => this.#chains.apply(chains))
    const destroyed = await this.#sets.destroy(ofKind(unset, 'set'))
    return { ...result, failed: new Map([...created, ...result.failed, ...destroyed]) }
  }

  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const chains = await this.#chains.observe(keys && ofKind(keys, 'rule'))
    const sets = keys && ofKind(keys, 'set')
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

  /** Conntrack translates established connections without our rules, so there is no need to wait for them. */
  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.cleanup()
  }

  /** The first part of `cleanup`: removes everything but the sets, which rules elsewhere may still name. */
  removeRules(): Promise<void> {
    return this.#chains.removeAll()
  }
}

type Command = readonly [ObjectKey, SetCommand]
type Failed = ReadonlyMap<ObjectKey, KernelError>

/** The IP sets that remember which clients stick to a backend: creates, lists and destroys them. */
export class AffinitySets {
  readonly #sets: Sets
  readonly #typeOf: (key: ObjectKey) => SetType | undefined
  /** Sets that the kernel holds, according to the last listing, creation or destruction. */
  readonly #present = new Set<ObjectKey>()

  /** `typeOf` returns the type with which a set is created; undefined if the set is not wanted any more. */
  constructor(sets: Sets, typeOf: (key: ObjectKey) => SetType | undefined) {
    this.#sets = sets
    this.#typeOf = typeOf
  }

  /** Creates sets; returns those that the kernel refuses, with its reason. */
  async create(keys: readonly ObjectKey[]): Promise<Failed> {
    const commands = keys.flatMap((key): Command[] => {
      const type = this.#typeOf(key)
      return type ? [[key, { do: 'create', name: nameOf(key), type }]] : []
    })
    const failed = await this.#run(commands)
    for (const [key] of commands) if (!failed.has(key)) this.#present.add(key)
    return failed
  }

  /** Destroys sets; returns those that a foreign rule still names, with the reason. */
  async destroy(keys: readonly ObjectKey[]): Promise<Failed> {
    const failed = await this.#run(keys.map((key) => [key, { do: 'destroy', name: nameOf(key) }]))
    for (const key of keys) if (!failed.has(key)) this.#present.delete(key)
    return failed
  }

  /**
   * Our sets in the kernel: all, or these. A kernel without IP sets serves everything but session affinity, so if
   * ipset fails and none of our sets is known, the kernel has none.
   */
  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const held = await this.#listed()
    this.#present.clear()
    for (const key of held) this.#present.add(key)
    const seen = keys ? keys.filter((key) => this.#present.has(key)) : held
    return new Map(seen.map((key) => [key, PRESENT]))
  }

  async #listed(): Promise<readonly ObjectKey[]> {
    try {
      return (await this.#sets.names(PREFIX)).map(setKey)
    } catch (error) {
      if (this.#present.size > 0) throw error
      return []
    }
  }

  async #run(commands: readonly Command[]): Promise<Failed> {
    const failed = new Map<ObjectKey, KernelError>()
    if (commands.length === 0) return failed
    for (const { index, message } of await this.#sets.run(commands.map(([, what]) => what))) {
      const key = commands[index]?.[0]
      if (key) failed.set(key, { code: 'NP_IPTABLES_SET', message })
    }
    return failed
  }
}
