import { ClusterStore } from '../../cluster/cluster-store.ts'
import type { ClusterEvent } from '../../cluster/event.ts'
import type { NodeContext } from '../../forwarding/node-context.ts'
import { ForwardingTable } from '../../forwarding/table.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import type { IptablesMode } from '../../modes/iptables/mode.ts'
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

export interface EngineParts<B extends Blueprint> {
  readonly clock: Clock
  readonly observer: SyncObserver
  readonly cutFlows: SyncLoopParts['cutFlows']
  /** What configuration and cluster ask for now. */
  blueprint(): B
  build(blueprint: B): IptablesMode
  nodeContext(): NodeContext
}

interface Running<B> {
  readonly blueprint: B
  readonly mode: IptablesMode
  readonly table: ForwardingTable
  readonly tracker: DeltaTracker
  readonly loop: SyncLoop
}

/**
 * The loop and what it works on. When the blueprint changes (the configuration,
 * the Node's pod networks) a new mode takes over from the old one: it reads the
 * kernel and writes only what differs, so that no connection is dropped.
 */
export class Engine<B extends Blueprint> {
  readonly store = new ClusterStore()
  readonly #parts: EngineParts<B>
  #running: Running<B> | undefined
  #handover: Promise<void> = Promise.resolve()

  constructor(parts: EngineParts<B>) {
    this.#parts = parts
  }

  /** Undefined until the cluster was listed. */
  get running(): Omit<Running<B>, 'blueprint'> | undefined {
    return this.#running
  }

  enqueue(events: readonly ClusterEvent[], onApplied?: () => void): void {
    if (this.#running === undefined) this.store.apply(events)
    else this.#running.loop.enqueue(events, onApplied)
    if (events.some(({ kind }) => kind === 'node')) this.refresh()
  }

  /** The cluster was listed completely. */
  start(): void {
    this.#switchTo(this.#parts.blueprint())
  }

  /** Something that the blueprint or the entries depend on may have changed. */
  refresh(): void {
    if (this.#running === undefined) return
    const next = this.#parts.blueprint()
    if (isDeepEqual(next, this.#running.blueprint)) this.#running.loop.recompileAll()
    else this.#switchTo(next)
  }

  async stop(): Promise<void> {
    await this.#handover
    await this.#running?.loop.stop()
  }

  #switchTo(blueprint: B): void {
    const before = this.#running
    const after = this.#assemble(blueprint)
    this.#running = after
    this.#handover = this.#handover.then(async () => {
      await before?.loop.stop()
      after.loop.recompileAll()
      after.loop.setSynced()
    })
  }

  #assemble(blueprint: B): Running<B> {
    const { clock, observer, cutFlows, nodeContext } = this.#parts
    const mode = this.#parts.build(blueprint)
    const table = new ForwardingTable(nodeContext())
    const tracker = new DeltaTracker()
    const { store } = this
    const model = new NodeModel({ store, table, program: mode.program, nodeContext })
    const { minPeriodMs, verifyPeriodMs } = blueprint
    const parts = { model, tracker, mode, clock, observer, cutFlows, minPeriodMs, verifyPeriodMs }
    return { blueprint, mode, table, tracker, loop: new SyncLoop(parts) }
  }
}
