import type { AnswerSource, ForwardFault } from './forwarded-answer.ts'
import type { UpstreamObserver } from './upstream/query-upstreams.ts'
import type { UpstreamChange } from './upstream/upstream-health.ts'

/** Receives what metrics about forwarding need. */
export interface ForwardObserver extends UpstreamObserver {
  /** A client's question was answered, or failed. */
  queried(result: AnswerSource | ForwardFault): void
  /** The cache was full, so the least recently used entry was removed. */
  evicted(): void
  /** An upstream does not answer any more, or answers again. */
  upstreamChanged(change: UpstreamChange): void
}

/** Ignores everything. */
export const noForwardObserver: ForwardObserver = {
  queried: () => undefined,
  evicted: () => undefined,
  attempted: () => undefined,
  discarded: () => undefined,
  upstreamChanged: () => undefined,
}
