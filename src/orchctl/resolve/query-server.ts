import type { Answer } from 'dns-packet'
import { queryOf } from '../../dns/forward/message/query.ts'
import { type AttemptFault, runAttempt } from '../../dns/forward/upstream/attempt.ts'
import type { Upstream } from '../../dns/forward/upstream/upstream.ts'
import { dataText, type ZoneRecord } from '../../dns/zone/record.ts'
import { systemRandom } from '../../lib/random.ts'
import type { QueryType } from './question.ts'

/** The reply of a server: a DNS response code with records, or why there is no reply. */
export interface Reply {
  readonly status: string
  /** Whether the server replied at all. */
  readonly isReply: boolean
  readonly records: readonly ReplyRecord[]
}

export interface ReplyRecord {
  /** Without the final dot, in lower case. */
  readonly name: string
  readonly type: string
  readonly data: string
}

const TYPE_NUMBERS: Readonly<Record<QueryType, number>> = {
  A: 1,
  CNAME: 5,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
}
const INTERNET = 1
/** As in libc: two attempts of some seconds each. */
const MAX_ATTEMPTS = 2
const ATTEMPT_MS = 2_500
const NO_SUCH_NAME = 3

const STATUS: Readonly<Partial<Record<AttemptFault, string>>> = {
  servfail: 'SERVFAIL',
  refused: 'REFUSED',
  aborted: 'timeout',
}
const REPLIED: ReadonlySet<AttemptFault> = new Set(['servfail', 'refused', 'rcode', 'truncated'])

/** Queries a server over UDP, and over TCP when the reply is truncated. Waits five seconds at most. */
export async function queryServer(
  upstream: Upstream,
  name: string,
  type: QueryType,
  signal: AbortSignal,
): Promise<Reply> {
  const flags = { dnssecOk: false, checkingDisabled: false }
  const query = queryOf({ name, type: TYPE_NUMBERS[type], klass: INTERNET, ...flags })
  if (query === undefined) return { status: 'no question', isReply: false, records: [] }
  let fault: AttemptFault = 'aborted'
  for (let attempt = 0; attempt < MAX_ATTEMPTS && !signal.aborted; attempt++) {
    const either = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
    const found = await runAttempt({
      upstream,
      query,
      random: systemRandom,
      signal: either,
      onDiscard: () => undefined,
    })
    if (typeof found !== 'string') {
      const status = found.rcode === NO_SUCH_NAME ? 'NXDOMAIN' : 'NOERROR'
      return { status, isReply: true, records: found.answers.flatMap(replyRecord) }
    }
    fault = found
    if (fault !== 'aborted') break
  }
  return { status: STATUS[fault] ?? fault, isReply: REPLIED.has(fault), records: [] }
}

const KNOWN = new Set(['A', 'AAAA', 'CNAME', 'NS', 'PTR', 'SRV', 'TXT', 'SOA', 'HINFO'])

function replyRecord(answer: Answer): readonly ReplyRecord[] {
  if (answer.type === 'OPT') return []
  const { name, type } = answer
  const record = answer as unknown as ZoneRecord
  const data = KNOWN.has(type) ? dataText(asZoneRecord(record)) : 'of a type without text'
  return [{ name: name.toLowerCase(), type, data: type === 'TXT' ? data : data.toLowerCase() }]
}

/** Converts a record of the codec, which has bytes for the texts of a TXT record, and no list for a single text. */
function asZoneRecord(record: ZoneRecord): ZoneRecord {
  return record.type === 'TXT' ? { ...record, data: [record.data].flat().map(String) } : record
}
