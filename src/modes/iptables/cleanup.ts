import type { Change, Digest, ObjectKey } from '../mode.ts'

/** Removes all that was observed of ours: jumps, chains and sets, and nothing else. */
export function cleanupChange(observed: ReadonlyMap<ObjectKey, Digest>): Change {
  return { set: [], unset: [...observed.keys()] }
}
