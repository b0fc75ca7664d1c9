import type { Json } from '../../lib/json.ts'
import { parseJson } from '../encoding/parse-json.ts'
import { type JsonForm, jsonFormOf } from '../schema/json-form.ts'
import { StatusError } from '../status/status.ts'
import { WireFault } from './wire-fault.ts'
import { BYTES, VARINT, type WireReader } from './wire-reader.ts'

/** Nesting of JSON inside a message. */
const DEPTH = 100

/** Reads a message that is no object in JSON; undefined when it stands for null. */
export function decodeForm(reader: WireReader, type: string): Json | undefined {
  return readers[jsonFormOf(type)!](reader)
}

const readers: Readonly<Record<JsonForm, (reader: WireReader) => Json | undefined>> = {
  time: (reader) => decodeTime(reader, (seconds) => `${seconds}Z`),
  'micro-time': (reader) => decodeTime(reader, (seconds, micros) => `${seconds}.${micros}Z`),
  'int-or-string': decodeIntOrString,
  quantity: (reader) => lastOf(reader, 1, () => reader.text()) ?? '0',
  any: decodeAny,
  strings: decodeStrings,
}

/** The seconds that RFC 3339 can write. */
const FIRST = Date.parse('0001-01-01T00:00:00Z') / 1000
const LAST = Date.parse('9999-12-31T23:59:59Z') / 1000

function decodeTime(
  reader: WireReader,
  write: (seconds: string, micros: string) => string,
): Json | undefined {
  if (reader.isAtEnd) return undefined
  const start = reader.offset
  let seconds = 0
  let nanos = 0
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (number === 1 && wireType === VARINT) seconds = reader.varint()
    else if (number === 2 && wireType === VARINT) nanos = reader.varint()
    else reader.skip(wireType)
  }
  if (seconds < FIRST || seconds > LAST || nanos < 0 || nanos > 999_999_999) {
    throw new WireFault(start, 'the time is out of range')
  }
  const text = new Date(seconds * 1000).toISOString().slice(0, 19)
  return write(text, String(Math.floor(nanos / 1000)).padStart(6, '0'))
}

/** Which of the two it is stands in field 1: 0 for the number, 1 for the text. */
function decodeIntOrString(reader: WireReader): Json {
  let isText = false
  let number = 0
  let text = ''
  while (!reader.isAtEnd) {
    const tag = reader.tag()
    if (tag.number === 1 && tag.wireType === VARINT) isText = reader.varint() === 1
    else if (tag.number === 2 && tag.wireType === VARINT) number = reader.varint()
    else if (tag.number === 3 && tag.wireType === BYTES) text = reader.text()
    else reader.skip(tag.wireType)
  }
  return isText ? text : number
}

function decodeAny(reader: WireReader): Json | undefined {
  const start = reader.offset
  const bytes = lastOf(reader, 1, () => reader.bytes())
  if (bytes === undefined || bytes.length === 0) return undefined
  const document = parseJson(bytes, DEPTH)
  if (document instanceof StatusError) throw new WireFault(start, document.status.message)
  return document ?? undefined
}

function decodeStrings(reader: WireReader): Json {
  const strings: string[] = []
  lastOf(reader, 1, () => strings.push(reader.text()))
  return strings
}

/** Reads every occurrence of one length-delimited field, and keeps the last. */
function lastOf<Value>(reader: WireReader, wanted: number, read: () => Value): Value | undefined {
  let value: Value | undefined
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (number === wanted && wireType === BYTES) value = read()
    else reader.skip(wireType)
  }
  return value
}
