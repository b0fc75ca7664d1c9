import type { Election } from './election.ts'

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
