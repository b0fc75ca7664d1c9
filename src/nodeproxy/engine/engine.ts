import type { ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import type { NodeContext } from '../../forwarding/node-context.ts'
import { ForwardingTable } from '../../forwarding/table.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import type { ModeSpec } from '../../modes/definition/mode-driver.ts'
import type { Mode, Program } from '../../modes/mode.ts'
import { DeltaTracker } from '../../sync/delta-tracker.ts'
import { NodeModel } from '../../sync/node-model.ts'
import { SyncLoop, type SyncLoopParts, type SyncObserver } from '../../sync/sync-loop.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { PendingCleanups } from './pending-cleanups.ts'

/** What the engine uses. */
export interface EngineParts {
  /** Only the engine changes it. */
  readonly store: ClusterStore
  readonly clock: SyncLoopParts['clock']
  readonly wallClock: SyncLoopParts['wallClock']
  readonly log: Logger
  /** Creates the observer of the sync loop of a mode instance. */
  readonly observe: (mode: Mode) => SyncObserver
  /** Deletes stale conntrack entries. */
  readonly cutFlows: SyncLoopParts['cutFlows']
  /** The mode and settings that the configuration and the cluster require at present. */
  readonly spec: () => ModeSpec
  /** What the compilation of Services needs of this node, at present. */
  readonly nodeContext: () => NodeContext
  /** Removes the modes that are no longer active. */
  readonly pendingCleanups: Pick<PendingCleanups, 'add' | 'recall' | 'stop'>
  /**
   * Called when `mode` has all its objects in the kernel, except those that the kernel keeps refusing. From then on
   * the other modes can be removed.
   */
  readonly onComplete: (mode: string) => void
}

/** The newest mode instance, with its state. While it takes over, the previous instance may still write the kernel. */
export interface Running {
  readonly mode: Mode
  readonly table: ForwardingTable
  readonly tracker: DeltaTracker
}

/** A mode instance with its sync loop. The instances of one engine share `table` and `model`. */
interface Assembly extends Running {
  readonly spec: ModeSpec
  readonly model: NodeModel
  readonly loop: SyncLoop
  readonly completion: Completion
}

/**
 * Runs the sync loop of the active mode instance. The ModeSpec depends on the configuration, the Node's pod networks
 * and the Service ranges. When it changes, a new mode instance takes over. The new instance gets the compiled entries,
 * reads the kernel and writes only the differences, so that no connection is dropped and every stale flow is deleted.
 * If the mode itself changes, the kernel keeps the objects of the old mode until it has all objects of the new mode.
 */
export class Engine {
  readonly store: ClusterStore
  readonly #parts: EngineParts
  /** The newest instance, which receives the events. Undefined until `start`. */
  #current: Assembly | undefined
  /** The instance that writes the kernel. It differs from `#current` during a hand-over. */
  #active: Assembly | undefined
  /** Resolves when the last hand-over that was requested has ended. Hand-overs run one after the other. */
  #handover: Promise<void> = Promise.resolve()
  /** Whether a stand-in was requested; from then on the ModeSpec is not followed. */
  #isEnding = false
  #stopped = false

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.store = parts.store
  }

  /** The newest mode instance. Undefined until `start`. */
  get running(): Running | undefined {
    return this.#current
  }

  /**
   * Applies events to the store and the kernel. `onApplied` is called when their effect is in the kernel. Before
   * `start`, the events change the store alone, and `onApplied` is never called.
   */
  enqueue(events: readonly ClusterEvent[], onApplied?: () => void): void {
    if (this.#current === undefined) this.store.apply(events)
    else this.#current.loop.enqueue(events, onApplied)
    if (events.some(({ kind }) => kind === 'node' || kind === 'serviceCIDR')) this.#followSpec()
  }

  /** To be called when the cluster is listed completely: begins to write the kernel. */
  start(): void {
    if (this.#current === undefined) this.#switchTo(this.#parts.spec())
  }

  /**
   * To be called when something changed on which the ModeSpec or every entry depends. A new mode instance takes over if
   * the ModeSpec differs; otherwise all entries are compiled again.
   */
  refresh(): void {
    if (!this.#followSpec()) this.#current?.loop.recompileAll()
  }

  /**
   * Ends with a mode whose rules forward while no daemon runs. Events are applied in that mode from then on, and the
   * mode before keeps the connections that it has. To be called at most once, before `stop`.
   * @returns whether the other mode serves all new connections. False: the cluster is not listed, or `signal` was
   *   aborted first; then the mode before still takes them
   */
  async standIn(spec: ModeSpec, signal: AbortSignal): Promise<boolean> {
    const before = this.#current
    if (before === undefined) return false
    this.#isEnding = true
    const { promise, resolve } = Promise.withResolvers<boolean>()
    signal.addEventListener('abort', () => resolve(false))
    this.#switchTo(spec, () => resolve(true))
    if (!(await promise)) return false
    await before.mode.takeNoMore?.()
    return true
  }

  /** Resolves when the run in progress has ended and all removals have stopped. The kernel keeps its state. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#handover
    await this.#active?.loop.stop()
    this.#active?.completion.cancel()
    await this.#parts.pendingCleanups.stop()
  }

  /** Switches to a new mode instance if the ModeSpec has changed. @returns whether it has */
  #followSpec(): boolean {
    if (this.#current === undefined || this.#isEnding) return false
    const next = this.#parts.spec()
    if (isSame(next, this.#current.spec)) return false
    this.#switchTo(next)
    return true
  }

  #switchTo(spec: ModeSpec, onComplete = this.#parts.onComplete): void {
    const next = this.#assemble(spec, this.#current, onComplete)
    this.#current = next
    this.#handover = this.#handover.then(() => this.#handOverTo(next))
  }

  /**
   * Stops the loop of the active instance and starts that of `next`, so that only one loop at a time watches and writes
   * the kernel. The loop of an instance that another one superseded meanwhile never starts.
   */
  async #handOverTo(next: Assembly): Promise<void> {
    if (this.#isSuperseded(next)) return
    // If the active mode reported completion from here on, the mode of `next` would be removed again.
    this.#active?.completion.cancel()
    await this.#parts.pendingCleanups.recall(next.spec.mode)
    if (this.#isSuperseded(next)) return
    if (this.#active) {
      await this.#leave(this.#active, next.spec.mode)
      next.model.switchTo(next.mode.program)
    }
    this.#active = next
    next.loop.recompileAll()
    next.loop.setSynced()
  }

  #isSuperseded(assembly: Assembly): boolean {
    return this.#stopped || this.#current !== assembly
  }

  /** Stops the loop of an instance; plans the removal of its mode if `successor` is another mode. */
  async #leave({ loop, spec, mode }: Assembly, successor: string): Promise<void> {
    await loop.stop()
    if (spec.mode === successor) return
    this.#parts.log.info({ from: spec.mode, to: successor }, 'changing the proxy mode')
    this.#parts.pendingCleanups.add(spec.mode, mode)
  }

  #assemble(
    spec: ModeSpec,
    before: Assembly | undefined,
    report: EngineParts['onComplete'],
  ): Assembly {
    const { clock, wallClock, cutFlows, nodeContext } = this.#parts
    const mode = spec.build()
    const { program } = mode
    const table = before?.table ?? new ForwardingTable(nodeContext())
    const tracker = new DeltaTracker()
    const { store } = this
    const model = before?.model ?? new NodeModel({ store, table, program, nodeContext })
    const { minPeriodMs, verifyPeriodMs } = spec
    const onComplete = (refused: number) => {
      if (refused > 0) this.#logRefused(spec.mode, refused)
      report(spec.mode)
    }
    const completion = new Completion({ tracker, program, clock, onComplete })
    const observer = this.#observe(mode, completion)
    const clocks = { clock, wallClock }
    const parts = {
      model,
      tracker,
      mode,
      ...clocks,
      observer,
      cutFlows,
      minPeriodMs,
      verifyPeriodMs,
    }
    return { spec, mode, table, tracker, model, completion, loop: new SyncLoop(parts) }
  }

  /** The observer of a mode, which also reports each run to `completion`. */
  #observe(mode: Mode, completion: Completion): SyncObserver {
    const observer = this.#parts.observe(mode)
    return {
      ...observer,
      applied: (run) => {
        observer.applied(run)
        completion.ran()
      },
    }
  }

  #logRefused(mode: string, refused: number): void {
    this.#parts.log.warn(
      { mode, refused },
      'the kernel refuses objects of some Services in the new mode; the change of mode continues without them',
    )
  }
}

function isSame(a: ModeSpec, b: ModeSpec): boolean {
  return (
    a.mode === b.mode &&
    a.minPeriodMs === b.minPeriodMs &&
    a.verifyPeriodMs === b.verifyPeriodMs &&
    isDeepEqual(a.settings, b.settings)
  )
}

/**
 * How long objects of Services that the kernel refuses delay the removal of the previous mode, in milliseconds from
 * the first run of the sync loop.
 */
const REFUSED_TIMEOUT_MS = 60_000

/** What `Completion` observes. */
interface CompletionParts {
  readonly tracker: Pick<DeltaTracker, 'isSettled' | 'failures'>
  readonly program: Pick<Program, 'ownersOf'>
  readonly clock: Clock
  /** Called at most once. `refused`: the number of objects that the kernel refuses; it has all others. */
  readonly onComplete: (refused: number) => void
}

/**
 * Reports when a new mode has all its objects in the kernel, so that the previous mode can be removed. After a minute
 * (`REFUSED_TIMEOUT_MS`), it no longer waits for refused objects that belong to single Services. It always waits for
 * the objects that all Services share.
 */
export class Completion {
  readonly #parts: CompletionParts
  #isOver = false
  #isOverdue = false
  #cancelTimer: (() => void) | undefined

  constructor(parts: CompletionParts) {
    this.#parts = parts
  }

  /** To be called after each run of the sync loop. */
  ran(): void {
    if (this.#isOver) return
    this.#cancelTimer ??= this.#parts.clock.after(REFUSED_TIMEOUT_MS, () => {
      this.#isOverdue = true
      this.#review()
    })
    this.#review()
  }

  /** Ends the wait; `onComplete` is not called any more. */
  cancel(): void {
    this.#isOver = true
    this.#cancelTimer?.()
  }

  /** Reports completion, if it has been reached. */
  #review(): void {
    const { tracker, onComplete } = this.#parts
    if (this.#isOver) return
    if (!tracker.isSettled && !(this.#isOverdue && this.#areOnlyServicesRefused())) return
    this.cancel()
    onComplete(tracker.failures().size)
  }

  /** Whether the kernel refuses objects, and each of them belongs to single Services. */
  #areOnlyServicesRefused(): boolean {
    const { tracker, program } = this.#parts
    const refused = [...tracker.failures().keys()]
    return refused.length > 0 && refused.every((key) => program.ownersOf(key).length > 0)
  }
}
