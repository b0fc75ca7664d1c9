import { nameToWire } from './wire-name.ts'

/** A question to forward. */
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
 * The UDP payload that is offered to upstreams, in bytes: fits the smallest MTU of IPv6, so that no answer arrives
 * in fragments (DNS Flag Day 2020).
 */
export const UDP_PAYLOAD_BYTES = 1232

const RECURSION_DESIRED = 0x0100
const CHECKING_DISABLED = 0x0010
const DNSSEC_OK = 0x8000
const TYPE_OPT = 41
/** OPT, TKEY, TSIG and transfers belong to one connection and cannot be forwarded or cached. */
const UNFORWARDABLE = new Set([0, TYPE_OPT, 249, 250, 251, 252, 253, 254])
/** IN, CH, HS and ANY: the classes that have names in the codec. */
const CLASSES = new Set([1, 3, 4, 255])

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
  const header = Buffer.alloc(12)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(RECURSION_DESIRED | (query.checkingDisabled ? CHECKING_DISABLED : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(edns ? 1 : 0, 10)
  const fields = Buffer.alloc(4)
  fields.writeUInt16BE(query.type, 0)
  fields.writeUInt16BE(query.klass, 2)
  return Buffer.concat([header, query.name, fields, ...(edns ? [optRecord(query)] : [])])
}

function optRecord({ dnssecOk }: Query): Buffer {
  const record = Buffer.alloc(11)
  record.writeUInt16BE(TYPE_OPT, 1)
  record.writeUInt16BE(UDP_PAYLOAD_BYTES, 3)
  record.writeUInt16BE(dnssecOk ? DNSSEC_OK : 0, 7)
  return record
}
