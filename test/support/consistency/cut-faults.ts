import { applyChange, differences } from './fold.ts'
import type { Listed } from './history.ts'
import type { Run } from './run.ts'
import { changesOf } from './watch-log.ts'

/** When a backup was taken, on the clock of a history. */
export interface BackupTime {
  /** A list from before the backup began, with everything that had been acknowledged. */
  readonly before: Listed
  readonly ended: number
}

/**
 * What is wrong with the state that a backup restored. It must be a state that the run went through, with every write
 * that was acknowledged before the backup began, and none that began after it ended.
 */
export function cutFaults(
  { operations, watches }: Run,
  { before, ended }: BackupTime,
  restored: Listed,
): readonly string[] {
  const later = operations.flatMap(({ input, called, answer }) => {
    if (input.verb === 'read' || called < ended || answer?.output.result !== 'object') return []
    return [answer.output.object.version]
  })
  const bound = Math.min(...later, Number.POSITIVE_INFINITY)
  const { start } = watches[0]!
  const state = new Map(start.objects)
  const changes = changesOf(watches[0]!)
  const known = changes.filter(({ version }) => version <= before.version)
  for (const change of known) applyChange(state, change)
  if (differences(state, restored.objects).length === 0) return []
  for (const change of changes.slice(known.length)) {
    if (change.version >= bound) break
    applyChange(state, change)
    if (differences(state, restored.objects).length === 0) return []
  }
  return [`no state from ${before.version} to before ${bound} is the one that was restored`]
}
