import type { Answer } from 'dns-packet'
import { mapTtls } from './cache/time-to-live.ts'
import type { AnswerSource, ForwardedAnswer } from './forwarded-answer.ts'
import type { UpstreamAnswer } from './message/read-reply.ts'
import { lowerCase } from './message/wire-name.ts'

/** The TTL of stale records in seconds (RFC 8767 §4). */
const STALE_TTL = 30

/** An answer as one client receives it. */
export interface Presentation {
  /** The name as this client wrote it: records of that name repeat its case. */
  readonly name: string
  readonly source: AnswerSource
  /** Milliseconds since the answer was received, by which TTLs are less. */
  readonly ageMs: number
}

/** The answer with the TTLs that are left, for the name in the client's case. */
export function presentAnswer(
  answer: UpstreamAnswer,
  { name, source, ageMs }: Presentation,
): ForwardedAnswer {
  const age = Math.floor(ageMs / 1000)
  const change = (ttl: number): number => (source === 'stale' ? STALE_TTL : Math.max(0, ttl - age))
  return {
    source,
    rcode: answer.rcode,
    isAuthentic: answer.isAuthentic,
    answers: inCaseOf(name, mapTtls(answer.answers, change)),
    authorities: inCaseOf(name, mapTtls(answer.authorities, change)),
  }
}

function inCaseOf(name: string, records: readonly Answer[]): readonly Answer[] {
  const comparable = lowerCase(name)
  return records.map((record) => {
    const isWritten = record.name === name || record.name.length !== name.length
    return isWritten || lowerCase(record.name) !== comparable ? record : { ...record, name }
  })
}
