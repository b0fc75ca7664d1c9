import { lowerCase, readName } from './name.ts'
import {
  DNSSEC_OK,
  FLAG,
  HEADER_LENGTH,
  MAX_LABEL,
  MAX_NAME,
  OPCODE,
  QUESTION_TAIL,
  RCODE,
  TYPE,
} from './numbers.ts'

/** The OPT record of a query (RFC 6891). */
export interface QueryOptions {
  /** The largest datagram that the client accepts, in bytes. */
  readonly size: number
  readonly version: number
  readonly dnssecOk: boolean
}

/** A question as it arrived. */
export interface Query {
  /** The datagram, or the message of a stream. */
  readonly message: Buffer
  readonly id: number
  readonly recursionDesired: boolean
  readonly checkingDisabled: boolean
  /** The name in wire format, with its final zero, letters in lower case; one character is one byte. */
  readonly key: string
  readonly type: number
  readonly klass: number
  /** Where the question ends in `message`. */
  readonly questionEnd: number
  readonly options: QueryOptions | undefined
}

/** A message that is not a question to answer; undefined `rcode`: nothing must be answered. */
export interface QueryFault {
  readonly rcode: number | undefined
  /** The name of the fault in metrics. */
  readonly reason: 'short' | 'response' | 'opcode' | 'counts' | 'name' | 'additional'
}

/** The OPT record and a transaction signature. */
const MAX_ADDITIONALS = 2

const fault = (reason: QueryFault['reason'], rcode?: number): QueryFault =>
  Object.freeze({ reason, rcode })
const SHORT = fault('short')
const RESPONSE = fault('response')
const OPCODE_UNKNOWN = fault('opcode', RCODE.notImplemented)
const COUNTS = fault('counts', RCODE.formatError)
const NAME = fault('name', RCODE.formatError)
const ADDITIONAL = fault('additional', RCODE.formatError)

/**
 * Reads a message of a client. It never throws: whatever the bytes are, the result is a question or a fault.
 * A response is never answered, so two servers cannot talk to each other for ever.
 */
export function readQuery(message: Buffer): Query | QueryFault {
  if (message.length < HEADER_LENGTH) return SHORT
  const flags = message.readUInt16BE(2)
  if ((flags & FLAG.response) !== 0) return RESPONSE
  if ((flags & OPCODE) !== 0) return OPCODE_UNKNOWN
  const additionals = message.readUInt16BE(10)
  if (message.readUInt32BE(4) !== 0x0001_0000 || message.readUInt16BE(8) !== 0) return COUNTS
  if (additionals > MAX_ADDITIONALS) return COUNTS
  const nameEnd = endOfName(message)
  const questionEnd = nameEnd + QUESTION_TAIL
  if (nameEnd === 0 || questionEnd > message.length) return NAME
  const options = additionals === 0 ? undefined : readOptions(message, questionEnd, additionals)
  if (options === 'wrong') return ADDITIONAL
  return {
    message,
    id: message.readUInt16BE(0),
    recursionDesired: (flags & FLAG.recursionDesired) !== 0,
    checkingDisabled: (flags & FLAG.checkingDisabled) !== 0,
    key: lowerCase(message.toString('latin1', HEADER_LENGTH, nameEnd)),
    type: message.readUInt16BE(nameEnd),
    klass: message.readUInt16BE(nameEnd + 2),
    questionEnd,
    options,
  }
}

/** The offset at which the question of a message ends; that of the end of the header if the question cannot be read. */
export function endOfQuestion(message: Buffer): number {
  const nameEnd = endOfName(message)
  return nameEnd === 0 ? HEADER_LENGTH : nameEnd + QUESTION_TAIL
}

/** Where the name of the question ends; 0 if it is too long, cut off or compressed. */
function endOfName(message: Buffer): number {
  const limit = Math.min(message.length, HEADER_LENGTH + MAX_NAME)
  let at = HEADER_LENGTH
  while (at < limit) {
    const length = message[at]!
    if (length === 0) return at + 1
    if (length > MAX_LABEL) return 0
    at += length + 1
  }
  return 0
}

/** The OPT record among the additional ones; undefined when there is none. */
function readOptions(
  message: Buffer,
  start: number,
  count: number,
): QueryOptions | undefined | 'wrong' {
  let options: QueryOptions | undefined
  let at = start
  for (let index = 0; index < count; index += 1) {
    const isRoot = message[at] === 0
    at = isRoot ? at + 1 : (readName(message, at)?.end ?? 0)
    const end = at + 10
    if (at === 0 || end > message.length) return 'wrong'
    if (message.readUInt16BE(at) === TYPE.opt) {
      if (!isRoot || options !== undefined) return 'wrong'
      options = {
        size: message.readUInt16BE(at + 2),
        version: message[at + 5]!,
        dnssecOk: (message.readUInt16BE(at + 6) & DNSSEC_OK) !== 0,
      }
    }
    at = end + message.readUInt16BE(end - 2)
    if (at > message.length) return 'wrong'
  }
  return options
}
