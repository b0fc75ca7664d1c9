import type { Election } from './election.ts'

/** The election of a store that only one process can open: it always leads. */
export function createSoleCandidate(): Election {
  let term = 0
  let leader: string | undefined
  return {
    async campaign(candidate, signal) {
      signal?.throwIfAborted()
      leader = candidate
      const over = new AbortController()
      return {
        term: ++term,
        lost: over.signal,
        async resign() {
          leader = undefined
          over.abort()
        },
      }
    },
    leader: async () => leader,
  }
}
