/** Whether this replica is the one whose controllers write. */
export interface Leadership {
  isLeader(): boolean
  /** Calls `listener` after each change; the returned function stops that. */
  onChange(listener: () => void): () => void
}

/** For a single replica, which always leads. */
export const alone: Leadership = { isLeader: () => true, onChange: () => () => undefined }
