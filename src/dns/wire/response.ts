import type { ZoneRecord } from '../zone/record.ts'
import type { ZoneAnswer } from '../zone/zone-answer.ts'
import { countOf, type EncodedRecords, encodeRecords, recordTail } from './encoded-records.ts'
import { nameOfKey, wireName } from './name.ts'
import {
  DNSSEC_OK,
  FLAG,
  HEADER_LENGTH,
  MAX_DATAGRAM,
  MIN_DATAGRAM,
  OPCODE,
  OPT_LENGTH,
  POINTER,
  RCODE,
  TYPE,
} from './numbers.ts'
import { endOfQuestion, type Query } from './query.ts'

/** An encoded answer. It can be sent with any id, any letter case of the question and any size limit. */
export interface EncodedAnswer {
  /** 12 bits; see `RCODE`. */
  readonly rcode: number
  readonly isAuthoritative: boolean
  readonly answers: EncodedRecords
  /** The index of the first answer that may be rotated; before it is a chain of aliases. */
  readonly firstRotated: number
  readonly authorities: EncodedRecords
  readonly additionals: EncodedRecords
  /** Where `encodeResponse` keeps the complete response; absent: clients get different ones. */
  readonly wholes?: WholeResponses
}

/** Complete responses. The index depends on the query: 0 without an OPT record, 1 with one, 2 with one and its DO bit. */
export type WholeResponses = (Buffer | undefined)[]

/** How an answer is sent. */
export interface ResponseOptions {
  /** The size limit of the transport, in bytes. */
  readonly limit: number
  /** Whether the server queries other servers, too. */
  readonly recursionAvailable: boolean
  /** Which of the answers comes first; any whole number from 0. */
  readonly turn: number
}

/** A section without records. */
export const NO_RECORDS: EncodedRecords = Object.freeze({ bytes: Buffer.alloc(0), offsets: [0] })

/** An answer without records. */
export function bareAnswer(rcode: number): EncodedAnswer {
  return {
    rcode,
    isAuthoritative: false,
    firstRotated: 0,
    answers: NO_RECORDS,
    authorities: NO_RECORDS,
    additionals: NO_RECORDS,
  }
}

/** The datagram limit for the client of a query: what it offers, within 512 and 1,232 bytes. */
export function datagramLimit({ options }: Query): number {
  return Math.min(Math.max(options?.size ?? 0, MIN_DATAGRAM), MAX_DATAGRAM)
}

/**
 * The response to a query. A response that differs between clients only in id, flags and letter case of the
 * question is encoded once.
 */
export function encodeResponse(
  query: Query,
  answer: EncodedAnswer,
  options: ResponseOptions,
): Buffer {
  const { wholes } = answer
  if (wholes === undefined) return encodeAnew(query, answer, options)
  const index = query.options === undefined ? 0 : query.options.dnssecOk ? 2 : 1
  const whole = wholes[index]
  if (whole !== undefined) return copyFor(query, whole)
  const response = encodeAnew(query, answer, options)
  wholes[index] = Buffer.from(response)
  return response
}

/** Whether every client gets all of these records in the same order. */
export function isSameForAll(
  { answers, firstRotated, authorities, additionals }: EncodedAnswer,
  questionEnd: number,
): boolean {
  const records = answers.bytes.length + authorities.bytes.length + additionals.bytes.length
  const isRotated = countOf(answers) - firstRotated > 1
  return !isRotated && questionEnd + records + OPT_LENGTH <= MIN_DATAGRAM
}

/** In the upper byte of the flags. */
const RECURSION_DESIRED_BYTE = FLAG.recursionDesired >> 8

/** A response with the id, the question, and the flags RD and CD of another query. */
function copyFor({ message, questionEnd }: Query, whole: Buffer): Buffer {
  const response = Buffer.allocUnsafe(whole.length)
  response.set(whole)
  for (let at = HEADER_LENGTH; at < questionEnd; at += 1) response[at] = message[at]!
  response[0] = message[0]!
  response[1] = message[1]!
  const desired = message[2]! & RECURSION_DESIRED_BYTE
  response[2] = (response[2]! & ~RECURSION_DESIRED_BYTE) | desired
  const unchecked = message[3]! & FLAG.checkingDisabled
  response[3] = (response[3]! & ~FLAG.checkingDisabled) | unchecked
  return response
}

/**
 * The response to a query. If it would exceed the limit, additional records are left out. If answers and
 * authorities alone exceed it, it holds as many answers as fit and is marked as truncated (RFC 2181 §9).
 */
function encodeAnew(query: Query, answer: EncodedAnswer, options: ResponseOptions): Buffer {
  const { message: queried, questionEnd } = query
  const { answers, authorities, additionals } = answer
  const optLength = query.options === undefined ? 0 : OPT_LENGTH
  const indispensable = questionEnd + answers.bytes.length + authorities.bytes.length
  const whole = indispensable + additionals.bytes.length + optLength
  const message = Buffer.allocUnsafe(Math.min(whole, options.limit))
  const limit = message.length - optLength
  const isTruncated = indispensable > limit
  queried.copy(message, 0, 0, questionEnd)
  const rotation = { first: answer.firstRotated, turn: options.turn }
  const first = writeRotated(answers, rotation, { message, start: questionEnd, limit })
  const second = isTruncated
    ? { end: first.end, count: 0 }
    : writeRecords(authorities, { message, start: first.end, limit })
  const third = isTruncated
    ? { end: second.end, count: 0 }
    : writeRecords(additionals, { message, start: second.end, limit })
  writeHeader(message, query, answer, { ...options, isTruncated })
  writeCounts(message, [first, second, third], optLength > 0 ? 1 : 0)
  if (optLength > 0) writeOptions(message, third.end, query, answer.rcode)
  return message.subarray(0, third.end + optLength)
}

function writeHeader(
  message: Buffer,
  query: Query,
  { rcode, isAuthoritative }: EncodedAnswer,
  options: ResponseOptions & { readonly isTruncated: boolean },
): void {
  const flags =
    FLAG.response |
    (isAuthoritative ? FLAG.authoritative : 0) |
    (options.isTruncated ? FLAG.truncated : 0) |
    (query.recursionDesired ? FLAG.recursionDesired : 0) |
    (options.recursionAvailable ? FLAG.recursionAvailable : 0) |
    (query.checkingDisabled ? FLAG.checkingDisabled : 0)
  message.writeUInt16BE(flags | (rcode & 0xf), 2)
}

/** `optCount`: the number of OPT records, which are additional ones. */
function writeCounts(message: Buffer, sections: readonly Written[], optCount: number): void {
  const [answers, authorities, additionals] = sections
  message.writeUInt16BE(1, 4)
  message.writeUInt16BE(answers!.count, 6)
  message.writeUInt16BE(authorities!.count, 8)
  message.writeUInt16BE(additionals!.count + optCount, 10)
}

function writeOptions(message: Buffer, at: number, { options }: Query, rcode: number): void {
  message[at] = 0
  message.writeUInt16BE(TYPE.opt, at + 1)
  message.writeUInt16BE(MAX_DATAGRAM, at + 3)
  message[at + 5] = rcode >> 4
  message[at + 6] = 0
  message.writeUInt16BE(options?.dnssecOk ? DNSSEC_OK : 0, at + 7)
  message.writeUInt16BE(0, at + 9)
}

/** The response to a message whose question could not be read: its id, its opcode and a code. */
export function faultResponse(message: Buffer, rcode: number): Buffer {
  const response = Buffer.alloc(HEADER_LENGTH)
  response.writeUInt16BE(message.readUInt16BE(0), 0)
  const kept = FLAG.recursionDesired | OPCODE
  response.writeUInt16BE(FLAG.response | (message.readUInt16BE(2) & kept) | rcode, 2)
  return response
}

/**
 * The response without its records and marked as truncated, so that the client repeats the question over TCP. Its OPT
 * record stays: without one a client takes the server for one that does not know EDNS (RFC 6891 §7).
 */
export function truncatedResponse(response: Buffer): Buffer {
  const options = ownOptions(response)
  const short = Buffer.concat([response.subarray(0, endOfQuestion(response)), options])
  short[2]! |= FLAG.truncated >> 8
  // The counts of answers, authorities and additionals.
  short.fill(0, 6, HEADER_LENGTH)
  if (options.length > 0) short.writeUInt16BE(1, 10)
  return short
}

/** The OPT record of a response, which `writeOptions` wrote last; empty if it has none. */
function ownOptions(response: Buffer): Buffer {
  const start = response.length - OPT_LENGTH
  const isOptions =
    start >= HEADER_LENGTH &&
    response.readUInt16BE(10) > 0 &&
    response[start] === 0 &&
    response.readUInt16BE(start + 1) === TYPE.opt &&
    response.readUInt16BE(start + 3) === MAX_DATAGRAM
  return response.subarray(isOptions ? start : response.length)
}

/** The result of writing records: their end offset in the message, and their number. */
interface Written {
  readonly end: number
  readonly count: number
}

/** Where to write records, and the offset before which they must end. */
interface Destination {
  readonly message: Buffer
  readonly start: number
  readonly limit: number
}

/** Writes records from the first on, as many as fit. */
function writeRecords({ bytes, offsets }: EncodedRecords, destination: Destination): Written {
  const { message, start, limit } = destination
  const space = limit - start
  let count = offsets.length - 1
  while (count > 0 && offsets[count]! > space) count -= 1
  return { end: start + bytes.copy(message, start, 0, offsets[count]), count }
}

/** Rotates the records from `first` on: the one at `turn` (modulo their number) comes first. */
interface Rotation {
  readonly first: number
  readonly turn: number
}

/** Writes records in rotated order, as many as fit. */
function writeRotated(
  records: EncodedRecords,
  { first, turn }: Rotation,
  destination: Destination,
): Written {
  const count = countOf(records)
  const rotated = count - first
  if (rotated < 2) return writeRecords(records, destination)
  const lead = first + (turn % rotated)
  const { end, count: fixed } = writeRecords(slice(records, 0, first), destination)
  if (fixed < first) return { end, count: fixed }
  const leading = writeRecords(slice(records, lead, count), { ...destination, start: end })
  if (leading.count < count - lead) return { end: leading.end, count: first + leading.count }
  const rest = writeRecords(slice(records, first, lead), { ...destination, start: leading.end })
  return { end: rest.end, count: first + leading.count + rest.count }
}

/** The records from one index to another, without copying their bytes. */
function slice({ bytes, offsets }: EncodedRecords, from: number, to: number): EncodedRecords {
  const start = offsets[from]!
  return {
    bytes: bytes.subarray(start, offsets[to]),
    offsets: offsets.slice(from, to + 1).map((offset) => offset - start),
  }
}

/** The part of `ZoneAnswer` that has records. */
export type FoundAnswer = Extract<ZoneAnswer, { kind: 'found' }>

/** Encodes denials of one zone. The SOA record is encoded once for each serial number. */
export class DenialEncoder {
  readonly #zoneLength: number
  readonly #startOfAuthority: () => ZoneRecord
  #serial: number | undefined
  #tail: Buffer = Buffer.alloc(0)

  constructor(domain: string, startOfAuthority: () => ZoneRecord) {
    this.#zoneLength = wireName(domain).length
    this.#startOfAuthority = startOfAuthority
  }

  /** A denial for a question whose name is `nameLength` bytes long; `serial` is that of the zone. */
  encode(kind: 'empty' | 'missing', nameLength: number, serial: number): EncodedAnswer {
    return {
      rcode: kind === 'missing' ? RCODE.noSuchName : RCODE.noError,
      isAuthoritative: true,
      answers: NO_RECORDS,
      firstRotated: 0,
      additionals: NO_RECORDS,
      authorities: this.authority(nameLength, serial),
    }
  }

  /** The SOA record alone. Its owner is a pointer to the end of the question, which must be in the zone. */
  authority(nameLength: number, serial: number): EncodedRecords {
    if (this.#serial !== serial) {
      this.#serial = serial
      this.#tail = recordTail(this.#startOfAuthority())
    }
    const bytes = Buffer.allocUnsafe(this.#tail.length + 2)
    bytes.writeUInt16BE(POINTER | (HEADER_LENGTH + nameLength - this.#zoneLength))
    this.#tail.copy(bytes, 2)
    return { bytes, offsets: [0, bytes.length] }
  }
}

/** Encodes records for the question `queried`; `authorities` is empty unless the aliases end in a denial. */
export function encodeFound(
  { answers, additionals, denied }: FoundAnswer,
  queried: string,
  authorities: EncodedRecords = NO_RECORDS,
): EncodedAnswer {
  const firstOther = answers.findIndex(({ type }) => type !== 'CNAME')
  return {
    rcode: denied === 'missing' ? RCODE.noSuchName : RCODE.noError,
    isAuthoritative: true,
    answers: encodeRecords(answers, queried),
    firstRotated: firstOther < 0 ? answers.length : firstOther,
    authorities,
    additionals: encodeRecords(additionals, queried),
  }
}

/** Encodes aliases whose target is outside of the zone. */
export function encodeChain(chain: FoundAnswer, key: string): EncodedAnswer {
  return encodeFound(chain, nameOfKey(key))
}
