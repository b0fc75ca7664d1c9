import type { AnswerSource, ForwardFault } from './forwarded-answer.ts'
import type { UpstreamObserver } from './upstream/query-upstreams.ts'

/** Receives what metrics about forwarding need. */
export interface ForwardObserver extends UpstreamObserver {
  /** A client's question was answered, or not. */
  queried(result: AnswerSource | ForwardFault): void
  /** The cache was full, so the least recently used entry was removed. */
  evicted(): void
}

/** Ignores everything. */
export const noForwardObserver: ForwardObserver = {
  queried: () => undefined,
  evicted: () => undefined,
  attempted: () => undefined,
  discarded: () => undefined,
}
