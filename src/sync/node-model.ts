import type { ClusterEvent, ClusterStore } from '../cluster/cluster-store.ts'
import { recompile } from '../forwarding/compile.ts'
import type { ServiceKey, StaleFlows, TableDelta } from '../forwarding/entry.ts'
import type { NodeContext } from '../forwarding/node-context.ts'
import type { ForwardingTable } from '../forwarding/table.ts'
import type { Change, Program } from '../modes/mode.ts'
import type { DeltaTracker } from './delta-tracker.ts'
import { FlowQueue } from './flow-queue.ts'

/** What a `NodeModel` works with. */
interface NodeModelParts {
  readonly store: ClusterStore
  readonly table: ForwardingTable
  /** The program of the first mode; `switchTo` replaces it. */
  readonly program: Program
  /** Called at the start, and again when the Node or the configuration changed. */
  nodeContext(): NodeContext
}

/**
 * What this node should forward: turns cluster events into entries of the forwarding table, and these into changes of
 * the mode's program and into stale conntrack entries. It does no input or output. Changes are collected until
 * `compile`, so that many events of one Service cost one compilation.
 */
export class NodeModel {
  readonly #parts: NodeModelParts
  readonly #dirty = new Set<ServiceKey>()
  #program: Program
  #node: NodeContext
  readonly #staleFlows = new FlowQueue()

  constructor(parts: NodeModelParts) {
    this.#parts = parts
    this.#program = parts.program
    this.#node = parts.nodeContext()
  }

  /** Stores the events. Returns whether a Service waits for `compile`. */
  apply(events: readonly ClusterEvent[]): boolean {
    const { services, nodeChanged } = this.#parts.store.apply(events)
    for (const key of services) this.#dirty.add(key)
    if (nodeChanged) this.recompileAll()
    return this.#dirty.size > 0
  }

  /** Reads `nodeContext` again; the next `compile` compiles every Service. */
  recompileAll(): void {
    this.#node = this.#parts.nodeContext()
    this.#parts.table.setDrainSeconds(this.#node.drainSeconds)
    for (const key of this.#parts.store.serviceKeys()) this.#dirty.add(key)
  }

  /** Replaces the program, for another mode: the new one gets every entry of the table. */
  switchTo(program: Program): void {
    this.#program = program
    for (const entry of this.#parts.table.entries()) program.replace(entry.id, entry)
  }

  /**
   * Brings the table and the program up to date. `now`: of the loop's clock, in milliseconds, for the deadlines
   * of draining backends. Returns the Services that were compiled.
   */
  compile(now: number): readonly ServiceKey[] {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    const { store: cluster, table } = this.#parts
    for (const key of keys)
      this.#applyDelta(recompile(table, key, { cluster, node: this.#node, now }))
    this.#applyDelta(table.expire(now))
    return keys
  }

  /** Conntrack entries that became stale since the last call. */
  takeStaleFlows(): readonly StaleFlows[] {
    return this.#staleFlows.takeDue(Number.POSITIVE_INFINITY)
  }

  /** These flows, with the backends that serve their frontends by now. */
  withPresentBackends(flows: readonly StaleFlows[]): readonly StaleFlows[] {
    return this.#parts.table.withPresentBackends(flows)
  }

  /** When the next draining backend is removed, by the same clock as `now` of `compile`; undefined if none drains. */
  nextDeadline(): number | undefined {
    return this.#parts.table.nextDeadline()
  }

  #applyDelta({ upserts, removals, staleFlows }: TableDelta): void {
    for (const id of removals) this.#program.replace(id, undefined)
    for (const entry of upserts) this.#program.replace(entry.id, entry)
    this.#staleFlows.add(staleFlows, 0)
  }
}

/** What one run of the loop does. */
export interface Plan {
  /** The Services that were compiled for it. */
  readonly services: readonly ServiceKey[]
  /** What it writes. */
  readonly change: Change
  /** Frontends whose conntrack entries it deletes, except those to the backends that it names. */
  readonly flows: readonly StaleFlows[]
}

/** The inputs of a plan. The tracker has seen what the kernel holds. */
interface PlanParts {
  readonly model: NodeModel
  readonly tracker: DeltaTracker
  readonly program: Pick<Program, 'takeChanges'>
}

/**
 * Compiles what changed, and compares what is wanted with what the kernel holds. The loop uses this function for what
 * it writes, and `node-proxy plan` for what it would write. `now` as for `compile`.
 */
export function planRun({ model, tracker, program }: PlanParts, now: number): Plan {
  const services = model.compile(now)
  tracker.want(program.takeChanges())
  return { services, change: tracker.pending(now), flows: model.takeStaleFlows() }
}
