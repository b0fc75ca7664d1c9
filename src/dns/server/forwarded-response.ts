import { type Answer, encode } from 'dns-packet'
import type { ForwardedAnswer } from '../forward/forwarded-answer.ts'
import type { EncodedRecords } from '../wire/encoded-records.ts'
import { encodeRecords } from '../wire/encoded-records.ts'
import { nameOfKey } from '../wire/name.ts'
import { HEADER_LENGTH } from '../wire/numbers.ts'
import type { Query } from '../wire/query.ts'
import { type EncodedAnswer, NO_RECORDS } from '../wire/response.ts'
import type { ZoneRecord } from '../zone/record.ts'

/** An answer of another server. */
export type ForwardedRecords = Pick<
  Exclude<ForwardedAnswer, { readonly fault: string }>,
  'rcode' | 'answers' | 'authorities'
>

/** The answer of another server for a client, behind the aliases of the zone that led there. */
export function encodeForwarded(
  { rcode, answers, authorities }: ForwardedRecords,
  query: Query,
  chain: readonly ZoneRecord[],
): EncodedAnswer {
  const own = encodeRecords(chain, nameOfKey(query.key))
  const first = answers.findIndex(({ type }) => type !== 'CNAME')
  const aliases = first < 0 ? answers.length : first
  return {
    ...{ rcode, isAuthoritative: false, additionals: NO_RECORDS },
    answers: joined(own, encodeForeign(answers)),
    firstRotated: chain.length + aliases,
    authorities: encodeForeign(authorities),
  }
}

function encodeForeign(records: readonly Answer[]): EncodedRecords {
  const offsets = [0]
  const encoded = records.map((record) => encode({ answers: [record] }).subarray(HEADER_LENGTH))
  for (const { length } of encoded) offsets.push(offsets.at(-1)! + length)
  return { bytes: Buffer.concat(encoded), offsets }
}

function joined(first: EncodedRecords, second: EncodedRecords): EncodedRecords {
  const start = first.bytes.length
  return {
    bytes: Buffer.concat([first.bytes, second.bytes]),
    offsets: [...first.offsets, ...second.offsets.slice(1).map((offset) => start + offset)],
  }
}
