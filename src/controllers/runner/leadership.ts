/** Whether this replica is the one whose controllers write. */
export interface Leadership {
  isLeader(): boolean
  /** Calls `listener` after each change; the returned function ends that. */
  onChange(listener: () => void): () => void
}

/** The only replica leads. */
export const alone: Leadership = { isLeader: () => true, onChange: () => () => undefined }
