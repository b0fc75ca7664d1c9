import type { DiscardReason } from '../message/match-reply.ts'
import type { Query } from '../message/query.ts'
import type { ReplyHeader } from '../message/read-header.ts'
import type { Upstream } from './upstream.ts'

/** One message to an upstream and the reply to it. */
export interface Exchange {
  readonly upstream: Upstream
  readonly query: Query
  /** Unpredictable, 0 to 65535. */
  readonly id: number
  readonly edns: boolean
  /** Ends the exchange: by then its socket is closed. */
  readonly signal: AbortSignal
  /** A message arrived that is no reply to this query. */
  readonly onDiscard: (reason: DiscardReason) => void
}

/** A reply that matches the query by id, name, type and class. */
export interface MatchedReply {
  readonly message: Buffer
  readonly header: ReplyHeader
}

/** Why there is no reply. */
export type ExchangeFault =
  /** The system reports that nothing listens there, that there is no route, or that there is no free socket. */
  | 'unreachable'
  /** A TCP connection ended before the reply was complete. */
  | 'ended'
  /** The reply over TCP is to another query. */
  | 'mismatch'
  /** `signal` ended it. */
  | 'aborted'
