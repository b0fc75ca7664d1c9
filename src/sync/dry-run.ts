import type { ClusterEvent, ClusterStore } from '../cluster/cluster-store.ts'
import type { EntryId } from '../forwarding/entry.ts'
import type { NodeContext } from '../forwarding/node-context.ts'
import { ForwardingTable } from '../forwarding/table.ts'
import type { Digest, Mode, ObjectKey } from '../modes/mode.ts'
import { DeltaTracker } from './delta-tracker.ts'
import { NodeModel, type Plan, planRun } from './node-model.ts'

/** What a dry run works with. */
export interface DryRunParts {
  /** The listed state of the cluster. */
  readonly store: ClusterStore
  /** Changes of the cluster to assume; empty for none. */
  readonly changes: readonly ClusterEvent[]
  readonly mode: Pick<Mode, 'program' | 'observe'>
  readonly nodeContext: () => NodeContext
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** What a run would do, and the data from which that was computed. */
export interface DryRun extends Plan {
  /** The table after the changes. */
  readonly table: ForwardingTable
  /** The mode's objects in the kernel. */
  readonly held: ReadonlyMap<ObjectKey, Digest>
  /**
   * The entries that an object belongs to, or belonged to before the changes; empty for objects that all Services
   * share.
   */
  readonly ownersOf: (key: ObjectKey) => readonly EntryId[]
}

/**
 * What a daemon that starts now would write, or a running one that gets the changes next. The cluster is compiled, the
 * kernel is read, and nothing is written.
 */
export async function dryRun(parts: DryRunParts): Promise<DryRun> {
  const { store, changes, mode, nodeContext, now } = parts
  const { program } = mode
  const tracker = new DeltaTracker()
  const held = await mode.observe()
  tracker.saw(held)
  const table = new ForwardingTable(nodeContext())
  const model = new NodeModel({ store, table, program, nodeContext })
  model.recompileAll()
  const before = new Map<ObjectKey, readonly EntryId[]>()
  if (changes.length > 0) {
    model.compile(now)
    tracker.want(program.takeChanges())
    for (const key of tracker.wantedKeys()) before.set(key, program.ownersOf(key))
    model.apply(changes)
  }
  const plan = planRun({ model, tracker, program }, now)
  const ownersOf = (key: ObjectKey): readonly EntryId[] => {
    const owners = program.ownersOf(key)
    return owners.length > 0 ? owners : (before.get(key) ?? [])
  }
  return { ...plan, table, held, ownersOf }
}
