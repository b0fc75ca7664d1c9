import { type Answer, encode, type OptAnswer } from 'dns-packet'
import type { ZoneRecord } from '../zone/record.ts'
import { wireName } from './name.ts'
import { HEADER_LENGTH, POINTER } from './numbers.ts'

/**
 * Concatenated records in wire format. `offsets` holds the start of each, and the total length as its last
 * item. Names point only into the question, so records may be left out or reordered.
 */
export interface EncodedRecords {
  readonly bytes: Buffer
  readonly offsets: readonly number[]
}

/** Encodes records for answers to a question about `queried`: lower case, without the final dot and without `\DDD`. */
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

/**
 * The owner name, with a pointer to the longest suffix that it shares with the question. An offset in the text of the
 * question is the same in the message, because a length octet stands where the text has the dot before it.
 */
function compressedName(name: string, queried: string): Buffer {
  const labels = name.split('.')
  for (let kept = 0; kept < labels.length; kept += 1) {
    const suffix = labels.slice(kept).join('.')
    if (queried !== suffix && !queried.endsWith(`.${suffix}`)) continue
    const pointer = Buffer.alloc(2)
    pointer.writeUInt16BE(POINTER | (HEADER_LENGTH + queried.length - suffix.length))
    const withoutEnd = wireName(labels.slice(0, kept).join('.')).subarray(0, -1)
    return Buffer.concat([withoutEnd, pointer])
  }
  return wireName(name)
}

/** The length of the owner name `.`. */
const ROOT_LENGTH = 1

/** What follows the owner: type, class, TTL, length and data. */
export function recordTail(record: ZoneRecord): Buffer {
  const { ttl } = record
  const whole = encode({ answers: [{ ...libraryRecord(record), name: '.', ttl, class: 'IN' }] })
  return whole.subarray(HEADER_LENGTH + ROOT_LENGTH)
}

type LibraryRecord = Exclude<Answer, OptAnswer>

/** The record as dns-packet takes it: with arrays and objects that may be changed. */
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
