import type { EntryId } from '../../forwarding/entry.ts'
import type { ForwardingTable } from '../../forwarding/table.ts'
import type { ObjectKey, Program } from '../../modes/mode.ts'
import type { DeltaTracker } from '../../sync/delta-tracker.ts'

/** The status of a Service port, the worst first. */
export type EntryStatus = 'Error' | 'Pending' | 'Conflict' | 'Done'

interface Sources {
  readonly table: Pick<ForwardingTable, 'entries' | 'problems'>
  readonly tracker: Pick<DeltaTracker, 'failures' | 'pending'>
  readonly mode: { readonly program: Pick<Program, 'ownersOf'> }
}

/** The status of each Service port that is forwarded or in conflict; the worst one, if a port has several. */
export function entryStatuses({
  table,
  tracker,
  mode,
}: Sources): ReadonlyMap<EntryId, EntryStatus> {
  const ownersOf = (keys: Iterable<ObjectKey>) =>
    new Set([...keys].flatMap((key) => mode.program.ownersOf(key)))
  const failing = ownersOf(tracker.failures().keys())
  const change = tracker.pending(Number.POSITIVE_INFINITY)
  const pending = ownersOf([...change.set, ...change.unset])
  const conflicts = table.problems().filter(({ status }) => status === 'Conflict')
  const conflicting = new Set(conflicts.map(({ entry }) => entry))
  const statusOf = (id: EntryId): EntryStatus => {
    if (failing.has(id)) return 'Error'
    if (pending.has(id)) return 'Pending'
    return conflicting.has(id) ? 'Conflict' : 'Done'
  }
  const ids = [...table.entries()].map(({ id }) => id)
  return new Map([...ids, ...conflicting].map((id) => [id, statusOf(id)]))
}

/** Counts the Service ports by status. */
export function countStatuses(sources: Sources): Record<EntryStatus, number> {
  const counts = { Error: 0, Pending: 0, Conflict: 0, Done: 0 }
  for (const status of entryStatuses(sources).values()) counts[status]++
  return counts
}
