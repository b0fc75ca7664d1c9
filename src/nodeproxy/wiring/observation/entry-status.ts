import type { EntryId } from '../../../forwarding/entry.ts'
import type { ForwardingTable } from '../../../forwarding/table.ts'
import type { ObjectKey, Program } from '../../../modes/mode.ts'
import type { DeltaTracker } from '../../../sync/delta-tracker.ts'

/** The status of a Service port, the worst first. */
export type EntryStatus = 'Error' | 'Pending' | 'Conflict' | 'Done'

interface Sources {
  readonly table: Pick<ForwardingTable, 'entries' | 'problems'>
  readonly tracker: Pick<DeltaTracker, 'failures' | 'pending'>
  readonly mode: { readonly program: Pick<Program, 'ownersOf'> }
}

/** Counts the Service ports by status; of several statuses of a port the worst one counts. */
export function countStatuses({ table, tracker, mode }: Sources): Record<EntryStatus, number> {
  const ownersOf = (keys: Iterable<ObjectKey>) =>
    new Set([...keys].flatMap((key) => mode.program.ownersOf(key)))
  const failing = ownersOf(tracker.failures().keys())
  const change = tracker.pending(Number.POSITIVE_INFINITY)
  const pending = ownersOf([...change.set, ...change.unset])
  const conflicting = new Set(
    table
      .problems()
      .filter(({ status }) => status === 'Conflict')
      .map(({ entry }) => entry),
  )
  const counts = { Error: 0, Pending: 0, Conflict: 0, Done: 0 }
  for (const id of new Set([...[...table.entries()].map((entry) => entry.id), ...conflicting])) {
    counts[statusOf(id)]++
  }
  return counts

  function statusOf(id: EntryId): EntryStatus {
    if (failing.has(id)) return 'Error'
    if (pending.has(id)) return 'Pending'
    return conflicting.has(id) ? 'Conflict' : 'Done'
  }
}
