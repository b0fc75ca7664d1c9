import type { ClusterEvent } from '../cluster/cluster-event.ts'
import type { ClusterStore } from '../cluster/cluster-store.ts'
import type { ServiceKey, StaleFlows, TableDelta } from '../forwarding/entry.ts'
import type { NodeContext } from '../forwarding/node-context.ts'
import { recompile } from '../forwarding/recompile.ts'
import type { ForwardingTable } from '../forwarding/table.ts'
import type { Program } from '../modes/mode.ts'
import { FlowQueue } from './flow-queue.ts'

export interface NodeModelParts {
  readonly store: ClusterStore
  readonly table: ForwardingTable
  /** The program at the start; see `moveTo`. */
  readonly program: Program
  /** Read again whenever this node's object changes. */
  nodeContext(): NodeContext
}

/**
 * The pure middle in one piece: cluster events in, a program of kernel objects
 * and the flows to cut out. Work is put off until `compile`, so that a burst of
 * events about one Service costs one compilation.
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

  /** Whether `compile` has something to do afterwards. */
  apply(events: readonly ClusterEvent[]): boolean {
    const { services, nodeChanged } = this.#parts.store.apply(events)
    for (const key of services) this.#dirty.add(key)
    if (nodeChanged) this.recompileAll()
    return this.#dirty.size > 0
  }

  /** The node or the configuration changed: every Service is compiled again. */
  recompileAll(): void {
    this.#node = this.#parts.nodeContext()
    this.#parts.table.setDrainSeconds(this.#node.drainSeconds)
    for (const key of this.#parts.store.serviceKeys()) this.#dirty.add(key)
  }

  /** Another program takes over: it gets every entry, as this one had it. */
  moveTo(program: Program): void {
    this.#program = program
    for (const entry of this.#parts.table.entries()) program.replace(entry.id, entry)
  }

  /** Brings the table and the program up to date. Returns the Services that were compiled. */
  compile(now: number): readonly ServiceKey[] {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    const { store: cluster, table } = this.#parts
    for (const key of keys) this.#take(recompile(table, key, { cluster, node: this.#node, now }))
    this.#take(table.expire(now))
    return keys
  }

  /** Conntrack entries that became stale since the last call. */
  takeStaleFlows(): readonly StaleFlows[] {
    return this.#staleFlows.takeAll()
  }

  /** When a draining backend's time is up next. */
  nextDeadline(): number | undefined {
    return this.#parts.table.nextDeadline()
  }

  #take({ upserts, removals, staleFlows }: TableDelta): void {
    for (const id of removals) this.#program.replace(id, undefined)
    for (const entry of upserts) this.#program.replace(entry.id, entry)
    this.#staleFlows.add(staleFlows)
  }
}
