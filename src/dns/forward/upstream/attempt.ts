import type { Random } from '../../../lib/random.ts'
import type { DiscardReason } from '../message/match-reply.ts'
import type { Query } from '../message/query.ts'
import { type ReplyFault, readReply, type UpstreamAnswer } from '../message/read-reply.ts'
import type { Exchange, ExchangeFault, MatchedReply } from './exchange.ts'
import { tcpExchange } from './tcp-exchange.ts'
import { udpExchange } from './udp-exchange.ts'
import type { Upstream } from './upstream.ts'

const IDS = 65_536

/** Why an attempt brought no answer; `truncated` is a reply over TCP that is still truncated. */
export type AttemptFault = ExchangeFault | ReplyFault | 'truncated'

/** Faults of an upstream that does not work; with the others it replied. */
export const WITHOUT_REPLY: ReadonlySet<AttemptFault | 'timeout'> = new Set([
  'unreachable',
  'ended',
  'mismatch',
  'timeout',
])

/** One query to one upstream, with what follows from its reply. */
export interface Attempt {
  readonly upstream: Upstream
  readonly query: Query
  readonly random: Pick<Random, 'below'>
  readonly signal: AbortSignal
  readonly onDiscard: (reason: DiscardReason) => void
}

/** Over UDP; over TCP when the reply is truncated; once more without EDNS when that is refused. */
export async function runAttempt(attempt: Attempt): Promise<UpstreamAnswer | AttemptFault> {
  const answer = await queryOnce(attempt, true)
  return answer === 'edns' ? queryOnce(attempt, false) : answer
}

async function queryOnce(attempt: Attempt, edns: boolean): Promise<UpstreamAnswer | AttemptFault> {
  const exchange = { ...attempt, edns, id: attempt.random.below(IDS) }
  const reply = await udpExchange(exchange)
  if (typeof reply === 'string') return reply
  return reply.header.isTruncated ? queryOverTcp(exchange) : answerOf(reply, exchange)
}

async function queryOverTcp(exchange: Exchange & Attempt): Promise<UpstreamAnswer | AttemptFault> {
  const overTcp = { ...exchange, id: exchange.random.below(IDS) }
  const reply = await tcpExchange(overTcp)
  if (typeof reply === 'string') return reply
  return reply.header.isTruncated ? 'truncated' : answerOf(reply, overTcp)
}

function answerOf({ message, header }: MatchedReply, { query, edns }: Exchange) {
  const answer = readReply(message, header, query)
  // Without EDNS the same RCODEs say that the question itself is refused.
  return answer === 'edns' && !edns ? 'rcode' : answer
}
