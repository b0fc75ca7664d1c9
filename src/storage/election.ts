/** Chooses one among several replicas, for work that only one may do at a time. */
export interface Election {
  /**
   * Waits until this candidate leads.
   * @param candidate a name for operators, such as the host name
   * @throws the reason of `signal` if it is aborted first; the errors of the store
   */
  campaign(candidate: string, signal?: AbortSignal): Promise<LeaderTerm>
}

/** One term of a leader. */
export interface LeaderTerm {
  /** Larger than the number of every earlier term. */
  readonly term: number
  /** Aborted as soon as another candidate may lead: the leader must stop its work then. */
  readonly lost: AbortSignal
  /** Resigns: the next leader may start at once. */
  resign(): Promise<void>
}

/** The election of a store that only one process can open: every candidate leads at once. */
export function createSoleCandidate(): Election {
  let term = 0
  return {
    async campaign(_candidate, signal) {
      signal?.throwIfAborted()
      const over = new AbortController()
      return { term: ++term, lost: over.signal, resign: async () => over.abort() }
    },
  }
}
