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

/** How long objects of Services that the kernel refuses delay the removal of the previous mode. */
const REFUSED_TIMEOUT_MS = 60_000

/** What the engine uses. */
export interface EngineParts {
  /** Only the engine writes it. */
  readonly store: ClusterStore
  readonly clock: Clock
  readonly log: Logger
  readonly observe: (mode: Mode) => SyncObserver
  readonly cutFlows: SyncLoopParts['cutFlows']
  /** The mode and settings that the configuration and the cluster require at present. */
  readonly spec: () => ModeSpec
  readonly nodeContext: () => NodeContext
  /** Removes the modes that are no longer active. */
  readonly pendingCleanups: Pick<PendingCleanups, 'add' | 'recall' | 'stop'>
  /** The mode has all objects in the kernel, except those that the kernel keeps refusing: others can be removed. */
  readonly onComplete: (mode: string) => void
}

/** The mode that compiles and writes, with its state. */
export interface Running {
  readonly mode: Mode
  readonly table: ForwardingTable
  readonly tracker: DeltaTracker
}

interface Assembly extends Running {
  readonly spec: ModeSpec
  readonly model: NodeModel
  readonly loop: SyncLoop
  readonly completion: Completion
}

/**
 * The sync loop and its state. When the ModeSpec changes (the configuration, the Node's pod networks, Service ranges)
 * a new mode instance takes over: it gets the compiled entries, reads the kernel and writes only
 * the differences, so that no connection is dropped and every stale flow is deleted. If the mode itself changes,
 * the kernel keeps the state of the old one until the new one has all objects in it.
 */
export class Engine {
  readonly store: ClusterStore
  readonly #parts: EngineParts
  /** Receives the events. */
  #current: Assembly | undefined
  /** Writes the kernel; differs from the current one during a hand-over. */
  #active: Assembly | undefined
  #handover: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.store = parts.store
  }

  /** Undefined until the cluster is listed. */
  get running(): Running | undefined {
    return this.#current
  }

  /** Applies events to the store and the kernel; `onApplied` is called when they are in the kernel. */
  enqueue(events: readonly ClusterEvent[], onApplied?: () => void): void {
    if (this.#current === undefined) this.store.apply(events)
    else this.#current.loop.enqueue(events, onApplied)
    if (events.some(({ kind }) => kind === 'node' || kind === 'serviceCIDR')) this.#followSpec()
  }

  /** The cluster is listed: begins to write the kernel. */
  start(): void {
    if (this.#current === undefined) this.#switchTo(this.#parts.spec())
  }

  /** Something changed on which the spec or every entry depends. */
  refresh(): void {
    if (!this.#followSpec()) this.#current?.loop.recompileAll()
  }

  /** Ends after the run in progress; the kernel keeps its state. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#handover
    await this.#active?.loop.stop()
    this.#active?.completion.cancel()
    await this.#parts.pendingCleanups.stop()
  }

  #followSpec(): boolean {
    if (this.#current === undefined) return false
    const next = this.#parts.spec()
    if (isSame(next, this.#current.spec)) return false
    this.#switchTo(next)
    return true
  }

  #switchTo(spec: ModeSpec): void {
    const next = this.#assemble(spec, this.#current)
    this.#current = next
    this.#handover = this.#handover.then(() => this.#handOverTo(next))
  }

  /** One loop at a time watches and writes; a loop that was superseded never starts. */
  async #handOverTo(next: Assembly): Promise<void> {
    if (this.#isSuperseded(next)) return
    // From here on, `next` would be removed if the active mode reported completion.
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

  async #leave({ loop, spec, mode }: Assembly, successor: string): Promise<void> {
    await loop.stop()
    if (spec.mode === successor) return
    this.#parts.log.info({ from: spec.mode, to: successor }, 'changing the proxy mode')
    this.#parts.pendingCleanups.add(spec.mode, mode)
  }

  #assemble(spec: ModeSpec, before: Assembly | undefined): Assembly {
    const { clock, cutFlows, nodeContext } = this.#parts
    const mode = spec.build()
    const { program } = mode
    const table = before?.table ?? new ForwardingTable(nodeContext())
    const tracker = new DeltaTracker()
    const { store } = this
    const model = before?.model ?? new NodeModel({ store, table, program, nodeContext })
    const { minPeriodMs, verifyPeriodMs } = spec
    const onComplete = (refused: number) => this.#completed(spec.mode, refused)
    const completion = new Completion({ tracker, program, clock, onComplete })
    const observer = this.#observe(mode, completion)
    const parts = { model, tracker, mode, clock, observer, cutFlows, minPeriodMs, verifyPeriodMs }
    return { spec, mode, table, tracker, model, completion, loop: new SyncLoop(parts) }
  }

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

  #completed(mode: string, refused: number): void {
    const { log, onComplete } = this.#parts
    if (refused > 0) {
      log.warn(
        { mode, refused },
        'the kernel refuses objects of some Services in the new mode; the change of mode continues without them',
      )
    }
    onComplete(mode)
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

/** What `Completion` observes. */
interface CompletionParts {
  readonly tracker: Pick<DeltaTracker, 'isSettled' | 'failures'>
  readonly program: Pick<Program, 'ownersOf'>
  readonly clock: Clock
  /** Called once. `refused`: the number of objects that the kernel refuses; all others are in the kernel. */
  readonly onComplete: (refused: number) => void
}

/**
 * Reports when a new mode has all objects in the kernel, so that the previous mode can be removed. After a
 * minute, objects of single Services may be missing, but none that all Services share.
 */
export class Completion {
  readonly #parts: CompletionParts
  #isOver = false
  #isOverdue = false
  #cancelTimer: (() => void) | undefined

  constructor(parts: CompletionParts) {
    this.#parts = parts
  }

  /** The caller reports each run of the sync loop. */
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

  #review(): void {
    const { tracker, onComplete } = this.#parts
    if (this.#isOver) return
    if (!tracker.isSettled && !(this.#isOverdue && this.#holdsAllButServices())) return
    this.cancel()
    onComplete(tracker.failures().size)
  }

  #holdsAllButServices(): boolean {
    const { tracker, program } = this.#parts
    const refused = [...tracker.failures().keys()]
    return refused.length > 0 && refused.every((key) => program.ownersOf(key).length > 0)
  }
}
