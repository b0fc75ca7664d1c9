import type { IpvsTimeouts } from '../../kernel/ipvs/ipvs.ts'
import { Mutex } from '../../lib/mutex.ts'
import type { ApplyResult, Change, Digest, ForeignChange, Mode, ObjectKey, Probe } from '../mode.ts'
import { Patrol } from '../netfilter/patrol.ts'
import { applyChange } from './apply.ts'
import { cleanUp } from './clean-up.ts'
import { createEstate, type Estate, type IpvsDependencies } from './estate.ts'
import { GAPS } from './gaps.ts'
import { Inspection } from './inspection.ts'
import { observe } from './observe.ts'
import { probeIpvs } from './probe.ts'
import type { IpvsProgram } from './program.ts'
import { retire } from './retire.ts'
import type { IpvsSettings } from './settings.ts'
import { endDrained } from './ways.ts'

export type { IpvsDependencies } from './estate.ts'

/** Seconds: the kernel counts ticks of a millisecond, in 31 bits. */
const LONGEST_TIMEOUT = 2_147_483

export class IpvsMode implements Mode {
  readonly name = 'ipvs'
  readonly gaps = GAPS
  readonly program: IpvsProgram
  readonly #kernel: IpvsDependencies
  readonly #estate: Estate
  /** Housekeeping and what `sync` asks for never overlap. */
  readonly #mutex = new Mutex()
  #hasTimeouts = false

  constructor(settings: IpvsSettings, kernel: IpvsDependencies) {
    this.#kernel = kernel
    this.#estate = createEstate(settings, kernel)
    this.program = this.#estate.program
  }

  /** Backends that take no new connections any more but have some. */
  get draining(): number {
    return this.#estate.drainer.count
  }

  probe(): Promise<Probe> {
    return probeIpvs(this.#kernel, this.#estate.settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#mutex.run(async () => {
      await this.#setTimeouts()
      return applyChange(change, this.#estate)
    })
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#mutex.run(() => observe(this.#estate, keys))
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const { servers, sets, chains, transit } = this.#estate
    const inspection = new Inspection(servers, sets)
    const patrol = new Patrol({
      ...{ clock: this.#kernel.clock, onForeignChange },
      exclusively: (work) => this.#mutex.run(work),
      look: async () => {
        const change = await inspection.look()
        await endDrained(this.#estate)
        return change
      },
    })
    const stops = [chains.watch(onForeignChange), transit.watch(onForeignChange)]
    return () => {
      patrol.stop()
      for (const stop of stops) stop()
    }
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#estate))
  }

  retire(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(() => retire(this.#estate, { signal, clock: this.#kernel.clock }))
  }

  /** They are the kernel's for all virtual servers, so once is enough. */
  async #setTimeouts(): Promise<void> {
    if (this.#hasTimeouts) return
    const { timeouts } = this.#estate.settings
    const asked = (['tcp', 'tcpFin', 'udp'] as const).filter((name) => timeouts[name] > 0)
    const within = (name: keyof typeof timeouts) => Math.min(timeouts[name], LONGEST_TIMEOUT)
    const wanted: Partial<IpvsTimeouts> = Object.fromEntries(
      asked.map((name) => [name, within(name)] as const),
    )
    if (asked.length > 0) await this.#kernel.ipvs.setTimeouts(wanted)
    this.#hasTimeouts = true
  }
}
