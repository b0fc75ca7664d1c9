import { nameToWire } from '../../wire/name.ts'
import {
  CLASS,
  DNSSEC_OK,
  FLAG,
  HEADER_LENGTH,
  MAX_DATAGRAM,
  OPT_LENGTH,
  QUESTION_TAIL,
  TYPE,
} from '../../wire/numbers.ts'

export interface ForwardQuestion {
  /** The name in the client's case, labels joined by dots, without the final dot; '' or '.' is the root. */
  readonly name: string
  /** TYPE of the question as a number, such as 28 for AAAA. */
  readonly type: number
  /** CLASS of the question as a number, such as 1 for IN. */
  readonly klass: number
  /** The client's DO bit (RFC 3225): it wants DNSSEC records. */
  readonly dnssecOk: boolean
  /** The client's CD bit (RFC 4035): the upstream shall not validate. */
  readonly checkingDisabled: boolean
}

/**
 * OPT, TKEY (249), TSIG (250) and transfers belong to one connection: they can be neither forwarded nor cached. Type 0
 * is reserved; MAILB (253) and MAILA (254) are obsolete.
 */
const UNFORWARDABLE = new Set<number>([
  0,
  TYPE.opt,
  249,
  250,
  TYPE.incrementalTransfer,
  TYPE.transfer,
  253,
  254,
])
/** IN, CH, HS and ANY: the classes that have names in the codec. */
const CLASSES = new Set<number>([CLASS.internet, 3, 4, CLASS.any])

/** A question as upstreams receive it; the id is added for each exchange. */
export interface Query {
  /** The name on the wire, in lower case and without compression. */
  readonly name: Buffer
  readonly type: number
  readonly klass: number
  readonly dnssecOk: boolean
  readonly checkingDisabled: boolean
}

/** The query of a question; undefined when its name, type or class cannot be forwarded. */
export function queryOf(question: ForwardQuestion): Query | undefined {
  const { type, klass, dnssecOk, checkingDisabled } = question
  const name = nameToWire(question.name)
  if (name === undefined || UNFORWARDABLE.has(type) || !CLASSES.has(klass)) return undefined
  return { name, type, klass, dnssecOk, checkingDisabled }
}

/** The message of a query, with EDNS(0) (RFC 6891) or without. */
export function encodeQuery(query: Query, id: number, edns: boolean): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(
    FLAG.recursionDesired | (query.checkingDisabled ? FLAG.checkingDisabled : 0),
    2,
  )
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(edns ? 1 : 0, 10)
  const fields = Buffer.alloc(QUESTION_TAIL)
  fields.writeUInt16BE(query.type, 0)
  fields.writeUInt16BE(query.klass, 2)
  return Buffer.concat([header, query.name, fields, ...(edns ? [optRecord(query)] : [])])
}

function optRecord({ dnssecOk }: Query): Buffer {
  const record = Buffer.alloc(OPT_LENGTH)
  record.writeUInt16BE(TYPE.opt, 1)
  record.writeUInt16BE(MAX_DATAGRAM, 3)
  record.writeUInt16BE(dnssecOk ? DNSSEC_OK : 0, 7)
  return record
}
