import type { Nftables } from '../../kernel/nftables/nftables.ts'
import type { TouchedObject } from '../../kernel/nftables/notifications/object-collector.ts'
import type { RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import { Mutex } from '../../lib/mutex.ts'
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
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { GAPS } from './gaps.ts'
import { applyChange } from './kernel/apply.ts'
import { cleanUp } from './kernel/clean-up.ts'
import { foreignChange } from './kernel/foreign-change.ts'
import { keepTranslating } from './kernel/guard.ts'
import { createManagedState, type ManagedState } from './kernel/managed-state.ts'
import { observe } from './kernel/observe.ts'
import { probeNftables } from './probe.ts'
import type { NftablesProgram } from './program/program.ts'
import { forgetConnections } from './traffic/forget-connections.ts'
import { readTraffic } from './traffic/read-traffic.ts'

/** Objects of a change, beyond which its notifications are not read. */
const HEARD_OBJECTS = 200

/** What an instance is built on; the instance closes none of it. */
export interface NftablesDependencies {
  readonly nftables: Nftables
  readonly monitor: RuleMonitor<TouchedObject>
}

/** The nftables mode: the contract of `../mode.ts` over one table in each IP family. */
export class NftablesMode implements Mode {
  readonly name = 'nftables'
  readonly gaps = GAPS
  readonly refusedRanges: NetfilterSettings['serviceRanges']
  readonly program: NftablesProgram
  readonly readTraffic: ReadTraffic | undefined
  readonly #kernel: NftablesDependencies
  readonly #state: ManagedState
  /** Calls of `sync` and of a clean-up never overlap. */
  readonly #mutex = new Mutex()
  #isGuarded = false

  constructor(settings: NetfilterSettings, kernel: NftablesDependencies) {
    this.#kernel = kernel
    this.refusedRanges = settings.serviceRanges
    this.#state = createManagedState(settings, kernel)
    this.program = this.#state.program
    this.readTraffic = settings.countsTraffic
      ? (isWanted) => readTraffic(this.#state, isWanted)
      : undefined
  }

  probe(): Promise<Probe> {
    return probeNftables(this.#kernel.nftables, this.#state.settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#known(async () => {
      await this.#guard()
      const result = await this.#unheard(change, () => applyChange(change, this.#state))
      await forgetConnections(this.#state, change.unset)
      return result
    })
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#known(async () => {
      // A daemon that finds everything as it should be applies nothing.
      if (keys === undefined) await this.#guard()
      return observe(this.#state, keys)
    })
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    return this.#kernel.monitor.start((change) => {
      const foreign = foreignChange(change, this.#state.suspects)
      if (foreign) onForeignChange(foreign)
    })
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#kernel.nftables))
  }

  /** Conntrack translates established connections without our rules, so none has to be waited for. */
  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.cleanup()
  }

  async #guard(): Promise<void> {
    if (this.#isGuarded) return
    const { families } = this.#state.settings
    this.#isGuarded = await keepTranslating(this.#kernel.nftables, families)
  }

  /** The socket of the monitor has no space for the notifications of a large change. */
  async #unheard<T>({ set, unset }: Change, work: () => Promise<T>): Promise<T> {
    if (set.length + unset.length <= HEARD_OBJECTS) return work()
    const { nftables, monitor } = this.#kernel
    const before = nftables.commits
    const release = monitor.hold({ unsubscribed: true })
    let commits: number | undefined
    try {
      const result = await work()
      commits = nftables.commits - before
      return result
    } finally {
      release({ pids: [], commits })
    }
  }

  /** After an error nothing is known of the kernel until it is read again. */
  #known<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      try {
        return await work()
      } catch (error) {
        this.#state.record.forget()
        throw error
      }
    })
  }
}
