import type { ForwardObserver } from '../forward/forward-observer.ts'
import { upstreamName } from '../forward/upstream/upstream.ts'

/** Numbers about questions for other servers, which only grow. */
export interface ForwardingStatistics {
  /** Questions by where the answer came from, or why there is none. */
  readonly results: Map<string, number>
  /** By upstream and result, with a space between. */
  readonly attempts: Map<string, number>
  /** Messages that were no reply to the query, by upstream and reason, with a space between. */
  readonly discarded: Map<string, number>
  /** Entries that a full cache removed. */
  evicted: number
}

/** Statistics of a forwarder without questions so far. */
export function createForwardingStatistics(): ForwardingStatistics {
  return { results: new Map(), attempts: new Map(), discarded: new Map(), evicted: 0 }
}

/** Counts what a forwarder reports. */
export function forwardObserver(
  statistics: ForwardingStatistics,
): Omit<ForwardObserver, 'upstreamChanged'> {
  const { results, attempts, discarded } = statistics
  return {
    queried: (result) => increment(results, result),
    attempted: ({ upstream, result }) => increment(attempts, `${upstreamName(upstream)} ${result}`),
    discarded: (upstream, reason) => increment(discarded, `${upstreamName(upstream)} ${reason}`),
    evicted: () => {
      statistics.evicted += 1
    },
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
