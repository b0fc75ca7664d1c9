import { comparable } from '../../wire/name.ts'
import { RCODE } from '../../wire/numbers.ts'
import type { Query } from './query.ts'
import { type HeaderQuestion, type ReplyHeader, readHeader } from './read-records.ts'

/** Why a message is no reply to a query. */
export type DiscardReason =
  /** Header or question cannot be read. */
  | 'malformed'
  /** It is a query, or has an opcode other than QUERY. */
  | 'not-a-response'
  /** It has another id. */
  | 'id'
  /** It has another name, type or class. */
  | 'question'

/** Servers that do not understand a query may leave its question out. */
const MAY_LEAVE_QUESTION_OUT = new Set<number>([RCODE.formatError, RCODE.notImplemented])

/** The header of `message` if it replies to the query sent with `id`, else why it does not. */
export function matchReply(message: Buffer, query: Query, id: number): ReplyHeader | DiscardReason {
  const header = readHeader(message)
  if (header === undefined) return 'malformed'
  if (!header.isResponse || header.opcode !== 0) return 'not-a-response'
  if (header.id !== id) return 'id'
  const { question, rcode } = header
  if (question === undefined) return MAY_LEAVE_QUESTION_OUT.has(rcode) ? header : 'question'
  return isSame(question, query) ? header : 'question'
}

function isSame(question: HeaderQuestion, query: Query): boolean {
  return (
    question.type === query.type &&
    question.klass === query.klass &&
    comparable(question.name) === comparable(query.name)
  )
}
