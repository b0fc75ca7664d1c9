import { ClusterStore } from '../../cluster/cluster-store.ts'
import type { ClusterEvent } from '../../cluster/event.ts'
import type { NodeContext } from '../../forwarding/node-context.ts'
import { ForwardingTable } from '../../forwarding/table.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import type { Mode } from '../../modes/mode.ts'
import { DeltaTracker } from '../../sync/delta-tracker.ts'
import { NodeModel } from '../../sync/node-model.ts'
import type { SyncObserver } from '../../sync/observer.ts'
import { SyncLoop, type SyncLoopParts } from '../../sync/sync-loop.ts'

/** What a mode was built from; another one means another mode. */
export interface Blueprint {
  readonly settings: unknown
  readonly minPeriodMs: number
  readonly verifyPeriodMs: number
}

export interface EngineParts<B extends Blueprint, M extends Mode> {
  readonly clock: Clock
  readonly observer: SyncObserver
  readonly cutFlows: SyncLoopParts['cutFlows']
  /** What configuration and cluster ask for now. */
  readonly blueprint: () => B
  readonly build: (blueprint: B) => M
  readonly nodeContext: () => NodeContext
}

export interface Running<M extends Mode> {
  readonly mode: M
  readonly table: ForwardingTable
  readonly tracker: DeltaTracker
}

interface Assembly<B, M extends Mode> extends Running<M> {
  readonly blueprint: B
  readonly model: NodeModel
  readonly loop: SyncLoop
}

/**
 * The loop and what it works on. When the blueprint changes (the configuration,
 * the Node's pod networks) a new mode takes over from the old one: it gets the
 * entries as they are, reads the kernel and writes only what differs, so that no
 * connection is dropped and no stale flow forgotten.
 */
export class Engine<B extends Blueprint, M extends Mode> {
  readonly store = new ClusterStore()
  readonly #parts: EngineParts<B, M>
  /** Takes the events. */
  #current: Assembly<B, M> | undefined
  /** Writes the kernel; another than the current one during a hand-over. */
  #active: Assembly<B, M> | undefined
  #handover: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: EngineParts<B, M>) {
    this.#parts = parts
  }

  /** Undefined until the cluster was listed. */
  get running(): Running<M> | undefined {
    return this.#current
  }

  enqueue(events: readonly ClusterEvent[], onApplied?: () => void): void {
    if (this.#current === undefined) this.store.apply(events)
    else this.#current.loop.enqueue(events, onApplied)
    if (events.some(({ kind }) => kind === 'node')) this.#followBlueprint()
  }

  /** The cluster was listed completely. */
  start(): void {
    if (this.#current === undefined) this.#switchTo(this.#parts.blueprint())
  }

  /** Something that the blueprint or every entry depends on changed. */
  refresh(): void {
    if (!this.#followBlueprint()) this.#current?.loop.recompileAll()
  }

  /** Ends after the run in progress; the kernel keeps what it has. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#handover
    await this.#active?.loop.stop()
  }

  #followBlueprint(): boolean {
    if (this.#current === undefined) return false
    const next = this.#parts.blueprint()
    if (isDeepEqual(next, this.#current.blueprint)) return false
    this.#switchTo(next)
    return true
  }

  #switchTo(blueprint: B): void {
    const next = this.#assemble(blueprint, this.#current)
    this.#current = next
    this.#handover = this.#handover.then(() => this.#handOverTo(next))
  }

  /** Only one loop at a time watches and writes; one that was overtaken never begins. */
  async #handOverTo(next: Assembly<B, M>): Promise<void> {
    if (this.#stopped || this.#current !== next) return
    if (this.#active) {
      await this.#active.loop.stop()
      next.model.moveTo(next.mode.program)
    }
    this.#active = next
    next.loop.recompileAll()
    next.loop.setSynced()
  }

  #assemble(blueprint: B, before: Assembly<B, M> | undefined): Assembly<B, M> {
    const { clock, observer, cutFlows, nodeContext } = this.#parts
    const mode = this.#parts.build(blueprint)
    const table = before?.table ?? new ForwardingTable(nodeContext())
    const tracker = new DeltaTracker()
    const { store } = this
    const model =
      before?.model ?? new NodeModel({ store, table, program: mode.program, nodeContext })
    const { minPeriodMs, verifyPeriodMs } = blueprint
    const parts = { model, tracker, mode, clock, observer, cutFlows, minPeriodMs, verifyPeriodMs }
    return { blueprint, mode, table, tracker, model, loop: new SyncLoop(parts) }
  }
}
