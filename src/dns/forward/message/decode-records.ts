import { type Answer, decode, encode } from 'dns-packet'
import { ownBuffer } from '../../../lib/own-buffer.ts'
import { encodeRecord, type WireRecord } from './read-records.ts'

const HEADER_BYTES = 12

/**
 * Records as the codec represents them. A record that the codec would not encode again to the same bytes, such as
 * a CAA with binary data, has the type `UNKNOWN_<number>` and its data as bytes, which the codec encodes as they
 * are. Undefined when a name has no representation: a label with a dot or of invalid UTF-8 would become another
 * name in text, which attackers use to inject records.
 */
export function decodeRecords(records: readonly WireRecord[]): readonly Answer[] | undefined {
  const together = decodeExactly(records)
  if (together !== undefined) return together
  const answers: Answer[] = []
  for (const record of records) {
    const answer = decodeExactly([record])?.[0] ?? decodeOpaque(record)
    if (answer === undefined) return undefined
    answers.push(answer)
  }
  return answers
}

function decodeExactly(records: readonly WireRecord[]): readonly Answer[] | undefined {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(records.length, 6)
  const message = ownBuffer(header, ...records.map(encodeRecord))
  try {
    const { answers = [] } = decode(message)
    return isEncodedAs(answers, message) ? answers : undefined
  } catch {
    return undefined
  }
}

/** The record with its data as bytes. */
function decodeOpaque(record: WireRecord): Answer | undefined {
  const known = decodeExactly([{ ...record, type: UNNAMED_TYPE }])?.[0]
  if (known === undefined || known.type === 'OPT') return undefined
  return { ...known, type: opaqueType(record.type) } as Answer
}

/** A type of private use (RFC 6895 §3.1): the codec does not know it, so it keeps its data as bytes. */
const UNNAMED_TYPE = 0xff00

function opaqueType(type: number): string {
  return `UNKNOWN_${type}`
}

function isEncodedAs(answers: readonly Answer[], message: Buffer): boolean {
  const again = encode({ answers: [...answers] })
  return again.subarray(HEADER_BYTES).equals(message.subarray(HEADER_BYTES))
}
