/** Chooses one among several replicas, for work that only one may do at a time. */
export interface Election {
  /** Waits until this candidate leads. Rejects with the signal's reason when it is aborted before. */
  campaign(candidate: string, signal?: AbortSignal): Promise<Office>
}

/** Held by the leader, for one term. */
export interface Office {
  /** Larger than that of every earlier term: a mark on what was done in this one. */
  readonly term: number
  /** Aborted as soon as another candidate may lead. Work of the term stops then. */
  readonly lost: AbortSignal
  /** Resigns: the next leader may start at once. */
  resign(): Promise<void>
}
