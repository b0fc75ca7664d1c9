import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import type { Mode } from '../../../src/modes/mode.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'

/** Drives a mode as `sync` does, but step by step, under the control of a test. */
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
    /** Reads everything from the kernel; returns what differs from the known state. */
    look: async () => tracker.saw(await mode.observe()),
    /** Adds these entries to the wanted ones, and writes what is due. */
    sync: (...entries: readonly ForwardingEntry[]) => {
      for (const one of entries) mode.program.replace(one.id, one)
      return write()
    },
    remove: (...names: readonly string[]) => {
      for (const name of names) mode.program.replace(name as EntryId, undefined)
      return write()
    },
    /** Writes again what was refused last. */
    retry: () => write(tracker.nextRetry()),
  }
}
