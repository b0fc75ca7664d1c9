import { type Answer, encode, type OptAnswer } from 'dns-packet'
import type { ZoneRecord } from '../zone/record.ts'
import { HEADER_LENGTH, MAX_LABEL, MAX_NAME } from './numbers.ts'

const PLAIN = /^[a-z0-9_-]*$/
const SPECIAL = /[^a-z0-9_-]/g
const DECIMAL_DIGITS = 3

const POINTER = 0xc000

/**
 * Concatenated records in wire format. `offsets` holds the start of each, and the total length as its last
 * item. Names point only into the question, so records may be left out or reordered.
 */
export interface EncodedRecords {
  readonly bytes: Buffer
  readonly offsets: readonly number[]
}

/** Encodes records for answers to a question about `queried` (lower case, without the final dot). */
export function encodeRecords(records: readonly ZoneRecord[], queried: string): EncodedRecords {
  const encoded = records.map((record) => encodeRecord(record, queried))
  const offsets = [0]
  for (const { length } of encoded) offsets.push(offsets.at(-1)! + length)
  return { bytes: Buffer.concat(encoded), offsets }
}

/** The number of records. */
export function countOf({ offsets }: EncodedRecords): number {
  return offsets.length - 1
}

function encodeRecord(record: ZoneRecord, queried: string): Buffer {
  return Buffer.concat([compressedName(record.name, queried), recordTail(record)])
}

/** The owner name, with a pointer to the longest suffix that it shares with the question. */
function compressedName(name: string, queried: string): Buffer {
  const labels = name.split('.')
  for (let kept = 0; kept < labels.length; kept += 1) {
    const rest = labels.slice(kept).join('.')
    if (queried !== rest && !queried.endsWith(`.${rest}`)) continue
    const pointer = Buffer.alloc(2)
    pointer.writeUInt16BE(POINTER | (HEADER_LENGTH + queried.length - rest.length))
    return Buffer.concat([wireName(labels.slice(0, kept).join('.')).subarray(0, -1), pointer])
  }
  return wireName(name)
}

/** What follows the owner: type, class, TTL, length and data. */
export function recordTail(record: ZoneRecord): Buffer {
  const { ttl } = record
  const rootOwner = 1
  const whole = encode({ answers: [{ ...libraryRecord(record), name: '.', ttl, class: 'IN' }] })
  return whole.subarray(HEADER_LENGTH + rootOwner)
}

type LibraryRecord = Exclude<Answer, OptAnswer>

function libraryRecord(record: ZoneRecord): LibraryRecord {
  const { type, name } = record
  switch (type) {
    case 'TXT':
      return { type, name, data: [...record.data] }
    case 'SRV':
      return { type, name, data: { ...record.data } }
    case 'SOA':
      return { type, name, data: { ...record.data } }
    case 'HINFO':
      return { type, name, data: { ...record.data } }
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return { type, name, data: record.data }
  }
}

/**
 * The text of a name in wire format (see `Query.key`), without the final dot. Bytes other than letters, digits,
 * `-` and `_` are written as `\DDD` (RFC 1035 §5.1), so every dot of the text separates labels.
 */
export function nameOfKey(key: string): string {
  let text = ''
  for (let at = 0; at < key.length - 1; ) {
    const end = at + 1 + key.charCodeAt(at)
    const label = key.slice(at + 1, end)
    text += `${at === 0 ? '' : '.'}${PLAIN.test(label) ? label : label.replace(SPECIAL, escaped)}`
    at = end
  }
  return text
}

function escaped(character: string): string {
  return `\\${String(character.charCodeAt(0)).padStart(DECIMAL_DIGITS, '0')}`
}

/** The bytes of a plain name: labels without escapes, `''` for the root. */
export function wireName(name: string): Buffer {
  const labels = name === '' ? [] : name.split('.')
  const bytes = labels.map((label) => {
    if (label === '' || label.length > MAX_LABEL) throw new RangeError(`not a name: ${name}`)
    return Buffer.concat([Buffer.of(label.length), Buffer.from(label, 'latin1')])
  })
  const wire = Buffer.concat([...bytes, Buffer.of(0)])
  if (wire.length > MAX_NAME) throw new RangeError(`longer than a name may be: ${name}`)
  return wire
}
