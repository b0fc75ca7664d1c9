import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import type { Mode } from '../../../src/modes/mode.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'

/** All that stands between an entry and a mode: what `sync` does, step by step as a test says. */
export function driveMode(mode: Pick<Mode, 'program' | 'apply' | 'observe'>) {
  const tracker = new DeltaTracker()
  const write = async (now = 0) => {
    tracker.want(mode.program.takeChanges())
    const change = tracker.pending(now)
    const result = await mode.apply(change)
    tracker.confirm(change, result, now)
    return result
  }
  return {
    tracker,
    write,
    /** Reads everything; returns what is otherwise than known. */
    look: async () => tracker.saw(await mode.observe()),
    /** Wants these entries as well, and writes what is due. */
    sync: (...entries: readonly ForwardingEntry[]) => {
      for (const one of entries) mode.program.replace(one.id, one)
      return write()
    },
    remove: (...names: readonly string[]) => {
      for (const name of names) mode.program.replace(name as EntryId, undefined)
      return write()
    },
    /** Writes what was refused last. */
    retry: () => write(tracker.nextRetry()),
  }
}
