import type { ForeignChange } from '../mode.ts'

/** Notices that somebody else changed rules of ours. */
export interface RuleWatch {
  start(onForeignChange: (change: ForeignChange) => void): () => void
  /** Looks away while we write very much ourselves; the result looks again. */
  pause(): () => void
}
