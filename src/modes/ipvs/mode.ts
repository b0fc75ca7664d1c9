import type { IpvsTimeouts } from '../../kernel/ipvs/ipvs.ts'
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
import { DriftChecker } from '../netfilter/drift-checker.ts'
import { applyChange } from './apply.ts'
import { cleanUp } from './clean-up.ts'
import { drainAndCleanup } from './drain-and-cleanup.ts'
import { endDrained } from './draining/leaving.ts'
import { GAPS } from './gaps.ts'
import { Inspection } from './inspection.ts'
import { createManagedState, type IpvsDependencies, type ManagedState } from './managed-state.ts'
import { observe } from './observe.ts'
import { probeIpvs } from './probe.ts'
import type { IpvsProgram } from './program.ts'
import type { IpvsSettings } from './settings.ts'
import { readBackends } from './traffic/read-backends.ts'
import { readTotals } from './traffic/read-totals.ts'

export type { IpvsDependencies } from './managed-state.ts'

/** Seconds; more than `INT_MAX / HZ` is refused (net/netfilter/ipvs/ip_vs_ctl.c), and HZ is at most 1000. */
const MAX_TIMEOUT = 2_147_483

/**
 * The ipvs mode: `IpvsProgram` computes what the kernel should hold, `ManagedState` writes and
 * reads it. Lost answers of the kernel throw `NodeProxyError`; refusals are values.
 */
export class IpvsMode implements Mode {
  readonly name = 'ipvs'
  readonly gaps = GAPS
  readonly refusedRanges: Mode['refusedRanges']
  readonly program: IpvsProgram
  /** Netlink requests go one by one, so a change that is to be written waits for one of them at most. */
  readonly readTraffic: ReadTraffic
  readonly #kernel: IpvsDependencies
  readonly #state: ManagedState
  /** Our own inspection and the calls of `sync` never overlap. */
  readonly #mutex = new Mutex()
  #hasTimeouts = false

  constructor(settings: IpvsSettings, kernel: IpvsDependencies) {
    this.#kernel = kernel
    this.refusedRanges = settings.netfilter.serviceRanges
    this.#state = createManagedState(settings, kernel)
    this.program = this.#state.program
    this.readTraffic = async (isWanted) => ({
      totals: await readTotals(kernel.ipvs, this.program),
      backends: isWanted ? await readBackends(this.#state, isWanted) : new Map(),
    })
  }

  /** Backends that take no new connections any more but have some. */
  get draining(): number {
    return this.#state.drainer.count
  }

  probe(): Promise<Probe> {
    return probeIpvs(this.#kernel, this.#state.settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#mutex.run(async () => {
      await this.#setTimeouts()
      return applyChange(change, this.#state)
    })
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#mutex.run(() => observe(this.#state, keys))
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const { servers, sets, chains, transit } = this.#state
    const inspection = new Inspection(servers, sets)
    const driftChecker = new DriftChecker({
      ...{ clock: this.#kernel.clock, onForeignChange },
      exclusively: (work) => this.#mutex.run(work),
      look: async () => {
        const change = await inspection.look()
        await endDrained(this.#state)
        return change
      },
    })
    const stops = [chains.watch(onForeignChange), transit.watch(onForeignChange)]
    return () => {
      driftChecker.stop()
      for (const stop of stops) stop()
    }
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#state))
  }

  drainAndCleanup(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(() =>
      drainAndCleanup(this.#state, { signal, clock: this.#kernel.clock }),
    )
  }

  /** The kernel has one value of each for all virtual servers, so once is enough. */
  async #setTimeouts(): Promise<void> {
    if (this.#hasTimeouts) return
    const { timeouts } = this.#state.settings
    const configured = (['tcp', 'tcpFin', 'udp'] as const).filter((name) => timeouts[name] > 0)
    const within = (name: keyof typeof timeouts) => Math.min(timeouts[name], MAX_TIMEOUT)
    const wanted: Partial<IpvsTimeouts> = Object.fromEntries(
      configured.map((name) => [name, within(name)] as const),
    )
    if (configured.length > 0) await this.#kernel.ipvs.setTimeouts(wanted)
    this.#hasTimeouts = true
  }
}
