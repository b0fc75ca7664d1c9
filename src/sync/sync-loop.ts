import type { ClusterEvent } from '../cluster/cluster-store.ts'
import type { ServiceKey, StaleFlows } from '../forwarding/entry.ts'
import type { Clock } from '../lib/clock.ts'
import { Throttle } from '../lib/regularly.ts'
import type { Change, ForeignChange, KernelError, Mode, ObjectKey } from '../modes/mode.ts'
import type { DeltaTracker, Drift } from './delta-tracker.ts'
import { FlowQueue } from './flow-queue.ts'
import { type NodeModel, planRun } from './node-model.ts'

/** A run that wrote, or had changes queued. */
export interface AppliedRun {
  /** When the run ended, in milliseconds since the epoch. */
  readonly at: number
  readonly durationMs: number
  readonly change: Change
  /** Objects of `change` that the kernel refused. */
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
}

/** What the loop reports to metrics, health and log. */
export interface SyncObserver {
  /** The oldest unwritten change was queued at `at`, in milliseconds since the epoch. */
  queued(at: number): void
  /** The run that has begun compiled these Services; they are not in the kernel yet. */
  compiled(services: readonly ServiceKey[]): void
  /** A run starts: it takes everything that was queued before it. */
  begun(): void
  /** A run has ended that wrote, had changes queued, or was the first one without an error. */
  applied(run: AppliedRun): void
  /**
   * Another process changed objects of the mode; the run is about to repair them. `by`: what reported it, such
   * as `verification` or the source of a `ForeignChange`.
   */
  drifted(drift: readonly Drift[], by: string): void
  /** The kernel prints these objects differently from what was written; that form counts as equal from now on. */
  normalised(keys: readonly ObjectKey[]): void
  /** Reading or writing the kernel failed as a whole; the loop tries again. */
  failed(error: unknown): void
  /** `count` conntrack entries of removed backends were deleted. */
  flowsCut(count: number): void
  /** Deleting conntrack entries of removed backends failed; the loop tries again. */
  flowsFailed(error: unknown): void
}

/** What a `SyncLoop` works with; all times in milliseconds. */
export interface SyncLoopParts {
  readonly model: NodeModel
  readonly tracker: DeltaTracker
  readonly mode: Mode
  /** By which runs are scheduled: a steady one. */
  readonly clock: Clock
  /** By which runs are reported. */
  readonly wallClock: Pick<Clock, 'now'>
  readonly observer: SyncObserver
  /** Deletes conntrack entries; resolves to the number of deleted ones. */
  cutFlows(flows: readonly StaleFlows[]): Promise<number>
  /** The shortest time between the starts of two runs. */
  readonly minPeriodMs: number
  /** The shortest time between two verifications of the whole kernel state. */
  readonly verifyPeriodMs: number
}

/** Verification takes at most this share of the time. */
const VERIFY_SHARE = 1 / 400
/**
 * The deletion of TCP connections takes at most this share: kernels before 5.15 list all of them, which takes seconds where there are
 * hundreds of thousands.
 */
const CUT_SHARE = 1 / 50
/** The longest time between a report of a foreign change and its repair. */
const MAX_REPAIR_DELAY_MS = 250
/** The delay after a failed run, or after a failed deletion of flows. */
const RETRY_MS = 1_000
/** The `by` of a drift that a verification found. */
const VERIFICATION = 'verification'

/**
 * Keeps the kernel equal to the cluster until `stop`: collects cluster events, and writes their effect in one
 * transaction per run. Only the loop calls the mode, one call at a time. It writes nothing before the cluster
 * is listed completely, and retries every object that the kernel refused.
 */
export class SyncLoop {
  readonly #parts: SyncLoopParts
  readonly #throttle: Throttle
  #synced = false
  #stopped = false
  #running: Promise<void> | undefined
  #again = false
  #cancelTimer: () => void = () => {}
  #timerAt = Number.POSITIVE_INFINITY
  /** Whether changes wait that the next run writes. */
  #hasQueued = false
  readonly #flows = new FlowQueue()
  /** Whether a run threw an error, and no run has succeeded since. */
  #hasFailed = false
  /** Objects that another process may have changed and that have to be read; at the start all objects. */
  #suspects: { keys: Set<ObjectKey> | 'all'; by: string } | undefined = { keys: 'all', by: 'start' }
  #verifyAt = Number.POSITIVE_INFINITY
  #hasObserved = false
  /** The `onApplied` callbacks of events whose effect is not in the kernel yet, in their order. */
  #callbacks: (() => void)[] = []
  #stopWatching: () => void = () => {}

  constructor(parts: SyncLoopParts) {
    this.#parts = parts
    this.#throttle = new Throttle(parts.clock, parts.minPeriodMs)
  }

  /** Adds cluster events. `onApplied` is called when their effect is in the kernel. */
  enqueue(events: readonly ClusterEvent[], onApplied?: () => void): void {
    const changed = this.#parts.model.apply(events)
    if (onApplied) this.#callbacks.push(onApplied)
    if (changed) this.#queue()
    if (changed || onApplied) this.#wake()
  }

  /** The cluster is listed completely: from now on the loop writes the kernel. */
  setSynced(): void {
    if (this.#synced || this.#stopped) return
    this.#synced = true
    this.#stopWatching = this.#parts.mode.watch((change) => this.suspect(change))
    this.#queue()
    this.#wake()
  }

  /** Compiles every Service again: the node context changed, on which every entry may depend. */
  recompileAll(): void {
    this.#parts.model.recompileAll()
    this.#queue()
    this.#wake()
  }

  /** Reads objects that another process may have changed, and repairs them within 250 ms. */
  suspect(change: ForeignChange): void {
    this.#addSuspects(change)
    this.#wake()
  }

  /** Stops after the run in progress; the kernel keeps what it has. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    this.#stopWatching()
    await this.#running
  }

  /** Reports when the oldest change was queued that the next run writes. */
  #queue(): void {
    if (this.#hasQueued) return
    this.#hasQueued = true
    this.#parts.observer.queued(this.#parts.wallClock.now())
  }

  #addSuspects({ keys, by }: ForeignChange): void {
    const known = this.#suspects
    if (keys === 'all' || known?.keys === 'all') this.#suspects = { keys: 'all', by }
    else this.#suspects = { keys: new Set([...(known?.keys ?? []), ...keys]), by }
  }

  /** Schedules a run, after the one in progress if there is one. */
  #wake(): void {
    if (this.#running) this.#again = true
    else this.#runAt(this.#parts.clock.now() + this.#delay())
  }

  /** Repairs are urgent, but a process that flushes in a loop must not occupy the processor. */
  #delay(): number {
    const delay = this.#throttle.delay()
    return this.#suspects ? Math.min(delay, MAX_REPAIR_DELAY_MS) : delay
  }

  #runAt(time: number): void {
    if (this.#stopped || !this.#synced || time >= this.#timerAt) return
    this.#cancelTimer()
    this.#timerAt = time
    this.#cancelTimer = this.#parts.clock.after(Math.max(0, time - this.#parts.clock.now()), () => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#running = this.#run().finally(() => {
        this.#running = undefined
        this.#scheduleNext()
      })
    })
  }

  #scheduleNext(): void {
    const { model, tracker, clock } = this.#parts
    if (this.#again) {
      this.#again = false
      this.#runAt(clock.now() + this.#delay())
    }
    // After a failed run the same work is due at once, so only the verification, after RETRY_MS, starts the next run.
    const due = [model.nextDeadline(), tracker.nextRetry(), this.#flows.nextDue()]
    for (const time of [this.#verifyAt, ...(this.#hasFailed ? [] : due)]) {
      if (time !== undefined && time !== Number.POSITIVE_INFINITY) this.#runAt(time)
    }
  }

  async #run(): Promise<void> {
    this.#throttle.started()
    let countsForThrottle = true
    try {
      const unexplained = await this.#inspect()
      const { wrote, effective } = await this.#apply()
      countsForThrottle = wrote || unexplained.length > 0
      if (unexplained.length > 0) await this.#learnNormalisedForms(unexplained)
      await this.#deleteStaleFlows()
      for (const onApplied of this.#callbacks.splice(0, effective)) onApplied()
    } catch (error) {
      this.#hasFailed = true
      this.#parts.observer.failed(error)
      this.#verifyAt = Math.min(this.#verifyAt, this.#parts.clock.now() + RETRY_MS)
    } finally {
      if (countsForThrottle) this.#throttle.ended()
    }
  }

  /**
   * Reads the suspected objects, or all when a verification is due. Returns the objects that a
   * verification found changed without a report of a change.
   */
  async #inspect(): Promise<readonly Drift[]> {
    const { clock, mode, tracker, observer } = this.#parts
    if (this.#suspects === undefined && clock.now() >= this.#verifyAt) {
      this.#suspects = { keys: 'all', by: VERIFICATION }
    }
    const suspects = this.#suspects
    if (suspects === undefined) return []
    const startedAt = clock.now()
    const keys = suspects.keys === 'all' ? undefined : [...suspects.keys]
    this.#suspects = undefined
    const seen = await mode.observe(keys).catch((error: unknown) => {
      this.#addSuspects({ keys: keys ?? 'all', by: suspects.by })
      throw error
    })
    const drift = tracker.saw(seen, keys)
    if (this.#hasObserved && drift.length > 0) observer.drifted(drift, suspects.by)
    this.#hasObserved = true
    if (keys === undefined) {
      const pause = (clock.now() - startedAt) / VERIFY_SHARE
      this.#verifyAt = clock.now() + Math.max(this.#parts.verifyPeriodMs, pause)
    }
    if (suspects.by !== VERIFICATION) return []
    return drift.filter(({ kind, key }) => kind !== 'missing' && tracker.isWanted(key))
  }

  /** Reads the objects that were just rewritten, so that a normalised form is not repaired again and again. */
  async #learnNormalisedForms(drift: readonly Drift[]): Promise<void> {
    const { mode, tracker, observer } = this.#parts
    const seen = await mode.observe(drift.map(({ key }) => key))
    const { normalised, doubtful } = tracker.sawAfterRepair(drift, seen)
    if (normalised.length > 0) observer.normalised(normalised)
    if (doubtful.length > 0) this.suspect({ keys: doubtful, by: 'repair' })
  }

  /** Brings the kernel up to date. `effective`: the number of waiting callbacks whose effect is in the kernel. */
  async #apply(): Promise<{ readonly wrote: boolean; readonly effective: number }> {
    const { model, mode, tracker, clock, wallClock, observer } = this.#parts
    const { program } = mode
    const hadQueued = this.#hasQueued
    this.#hasQueued = false
    const startedAt = clock.now()
    const waiting = this.#callbacks.length
    observer.begun()
    const { services, change, flows } = planRun({ model, tracker, program }, startedAt)
    observer.compiled(services)
    // The flows wait from this moment on: the kernel leads no new connection to these backends any more.
    const failed = await this.#write(change).finally(() => this.#flows.add(flows, clock.now()))
    if (hadQueued || !isEmpty(change) || this.#hasFailed) {
      this.#hasFailed = false
      const durationMs = clock.now() - startedAt
      observer.applied({ at: wallClock.now(), durationMs, failed, change })
    }
    const allRefused = failed.size > 0 && failed.size >= change.set.length + change.unset.length
    return { wrote: !isEmpty(change), effective: allRefused ? 0 : waiting }
  }

  async #write(change: Change) {
    if (isEmpty(change)) return new Map<ObjectKey, KernelError>()
    const { mode, tracker, clock } = this.#parts
    const result = await mode.apply(change)
    tracker.confirm(change, result, clock.now())
    if (result.uncertain) this.suspect({ keys: 'all', by: 'timeout' })
    return result.failed
  }

  /** Deletes stale flows that are due. A failure does not fail the run, as no rule depends on them; it is retried. */
  async #deleteStaleFlows(): Promise<void> {
    const { model, clock, observer } = this.#parts
    const startedAt = clock.now()
    const flows = this.#flows.takeDue(startedAt)
    if (flows.length === 0) return
    try {
      observer.flowsCut(await this.#parts.cutFlows(model.withPresentBackends(flows)))
    } catch (error) {
      this.#flows.putBack(flows, clock.now() + RETRY_MS)
      observer.flowsFailed(error)
    }
    if (flows.some(({ protocol }) => protocol === 'TCP')) {
      this.#flows.rest(startedAt, clock.now() + (clock.now() - startedAt) / CUT_SHARE)
    }
  }
}

function isEmpty(change: Change): boolean {
  return change.set.length + change.unset.length === 0
}
