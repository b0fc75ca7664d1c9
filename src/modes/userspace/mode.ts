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
  Traffic,
} from '../mode.ts'
import { DriftChecker } from '../netfilter/drift-checker.ts'
import { SetInspector } from '../netfilter/sets/set-inspector.ts'
import { applyChange } from './apply.ts'
import { cleanUp } from './clean-up.ts'
import { drainAndCleanup } from './drain-and-cleanup.ts'
import { GAPS } from './gaps.ts'
import {
  createManagedState,
  type ManagedState,
  type UserspaceDependencies,
} from './managed-state.ts'
import { observe } from './observe.ts'
import { probeUserspace } from './probe.ts'
import type { UserspaceProgram } from './program.ts'
import type { UserspaceSettings } from './settings.ts'
import { readTraffic } from './traffic/read-traffic.ts'

export type { RedirectKernel, UserspaceDependencies } from './managed-state.ts'

/**
 * The userspace mode: the contract of `../mode.ts` over a forwarder and, where packets are
 * redirected, over the kernel. Operations run one at a time.
 */
export class UserspaceMode implements Mode {
  readonly name = 'userspace'
  readonly gaps = GAPS
  readonly refusedRanges: Mode['refusedRanges']
  readonly program: UserspaceProgram
  readonly #settings: UserspaceSettings
  readonly #dependencies: UserspaceDependencies
  readonly #state: ManagedState
  /** The drift checker and calls of `sync` never overlap. */
  readonly #mutex = new Mutex()

  constructor(settings: UserspaceSettings, dependencies: UserspaceDependencies) {
    this.#settings = settings
    const { listening } = settings
    this.refusedRanges =
      listening.kind === 'transparent' ? listening.netfilter.serviceRanges : undefined
    this.#dependencies = dependencies
    this.#state = createManagedState(settings, dependencies)
    this.program = this.#state.program
  }

  /** Backends that take no new connections any more but have some. */
  get draining(): number {
    return this.#state.forwarderState?.forwarder.counts().drainingNow ?? 0
  }

  get readTraffic(): ReadTraffic | undefined {
    const forwarder = this.#state.forwarderState?.forwarder
    return forwarder && readTraffic({ forwarder, program: this.program })
  }

  get traffic(): Traffic | undefined {
    return this.#state.forwarderState?.forwarder
  }

  probe(): Promise<Probe> {
    return probeUserspace(this.#dependencies, this.#settings)
  }

  apply(change: Change): Promise<ApplyResult> {
    return this.#mutex.run(() => applyChange(change, this.#state))
  }

  observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return this.#mutex.run(() => observe(this.#state, keys))
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const { redirect } = this.#state
    const { kernel } = this.#dependencies
    if (redirect === undefined || kernel === undefined) return () => {}
    const inspector = new SetInspector(redirect.sets)
    const driftChecker = new DriftChecker({
      ...{ clock: kernel.clock, onForeignChange },
      exclusively: (work) => this.#mutex.run(work),
      look: () => lookAt(inspector),
    })
    const { chains, policyRoutes } = redirect
    const stops = [chains.watch(onForeignChange), policyRoutes.watch(onForeignChange)]
    return () => {
      driftChecker.stop()
      for (const stop of stops) stop()
    }
  }

  cleanup(): Promise<void> {
    return this.#mutex.run(() => cleanUp(this.#state))
  }

  drainAndCleanup(signal: AbortSignal): Promise<void> {
    return this.#mutex.run(() => drainAndCleanup(this.#state, signal))
  }
}

/** The kernel reports changes of rules and routes, but not of sets: those are compared again and again. */
async function lookAt(inspector: SetInspector): Promise<ForeignChange | undefined> {
  const by = 'another program'
  if (await inspector.isDisturbed()) return { keys: 'all', by }
  const keys = await inspector.alteredInNext()
  return keys.length > 0 ? { keys, by } : undefined
}
