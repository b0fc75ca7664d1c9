import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'
import { type Field, type JsonForm, jsonFormOf, messageOf, wireFieldsOf } from '../schema/schema.ts'
import { badRequest, StatusError, unsupportedMediaType } from '../status/status.ts'
import { parseJson } from './parse-json.ts'
import { BYTES, VARINT, WireFault, WireReader } from './wire-reader.ts'

/** How deep JSON inside a message may be nested. */
const DEPTH = 100

/** Readers of the messages whose JSON is not an object. They return undefined when the message stands for null. */
const readers: Readonly<Record<JsonForm, (reader: WireReader) => Json | undefined>> = {
  time: (reader) => decodeTime(reader, (seconds) => `${seconds}Z`),
  'micro-time': (reader) => decodeTime(reader, (seconds, micros) => `${seconds}.${micros}Z`),
  'int-or-string': decodeIntOrString,
  quantity: (reader) => lastOf(reader, 1, () => reader.text()) ?? '0',
  any: decodeAny,
  strings: decodeStrings,
}

/** The range of seconds that RFC 3339 can represent. */
const FIRST = Date.parse('0001-01-01T00:00:00Z') / 1000
const LAST = Date.parse('9999-12-31T23:59:59Z') / 1000

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00])

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** The type that is assumed for a body that does not name its type. */
export interface ExpectedType {
  readonly apiVersion: string
  readonly kind: string
}

/**
 * The object of a protobuf body, equal to that of the corresponding JSON. 400 for bytes that are not a valid
 * body, 415 for a kind that is not in the schema.
 */
export function decodeProtobuf(body: Buffer, expected: ExpectedType): JsonObject | StatusError {
  try {
    const envelope = readEnvelope(body)
    const apiVersion = envelope.apiVersion || expected.apiVersion
    const kind = envelope.kind || expected.kind
    const message = messageOf(apiVersion, kind)
    if (message === undefined || envelope.contentEncoding !== '') {
      return unsupportedMediaType(['application/json'])
    }
    return decodeMessage(envelope.object, message, { apiVersion, kind })
  } catch (error) {
    if (!(error instanceof WireFault)) throw error
    return badRequest(`the body is not valid protobuf at byte ${error.offset}: ${error.message}`)
  }
}

/** The envelope of every object: its type and the encoding of its bytes. */
interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  /** A compression of the object; none is in use. */
  readonly contentEncoding: string
  readonly object: WireReader
}

/** Reads the magic bytes and the `runtime.Unknown` that follows them. */
function readEnvelope(body: Buffer): Envelope {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new WireFault(0, 'it does not start with 6b 38 73 00')
  }
  const reader = new WireReader(body, MAGIC.length)
  const type = { apiVersion: '', kind: '' }
  let object = new WireReader(body, body.length)
  let contentEncoding = ''
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (wireType !== BYTES) reader.skip(wireType)
    else if (number === 1) readTypeMeta(reader.message(), type)
    else if (number === 2) object = reader.message()
    else if (number === 3) contentEncoding = reader.text()
    else reader.skip(wireType)
  }
  return { ...type, contentEncoding, object }
}

function readTypeMeta(reader: WireReader, type: { apiVersion: string; kind: string }): void {
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (number === 1 && wireType === BYTES) type.apiVersion = reader.text()
    else if (number === 2 && wireType === BYTES) type.kind = reader.text()
    else reader.skip(wireType)
  }
}

/**
 * Reads one message into the object that its JSON would contain. Unknown fields are skipped. If a field occurs
 * twice, the last value is used, and messages are merged. The depth is bounded, because the schema has no
 * cycles.
 */
function decodeMessage(reader: WireReader, message: string, object: JsonObject = {}): JsonObject {
  const fields = wireFieldsOf(message)
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    const field = fields?.get(number)
    if (field === undefined) reader.skip(wireType)
    else decodeField(reader, field, wireType, object)
  }
  return object
}

function decodeField(reader: WireReader, field: Field, wireType: number, object: JsonObject): void {
  const { type, name } = field
  if (field.shape === 'repeated' && wireType === BYTES && wireTypeOf(type) !== BYTES) {
    const packed = reader.message()
    while (!packed.isAtEnd) append(object, name, decodeScalar(packed, type))
    return
  }
  const expected = field.shape === 'map' ? BYTES : wireTypeOf(type)
  if (wireType !== expected) {
    throw new WireFault(reader.offset, `${name} has wire type ${wireType} instead of ${expected}`)
  }
  if (field.shape === 'inline') decodeMessage(reader.message(), type, object)
  else if (field.shape === 'map') decodeEntry(reader.message(), field, object)
  else if (field.shape === 'repeated') append(object, name, decodeValue(reader, type))
  else setOne(object, field, decodeValue(reader, type, ownValue(object, name)))
}

/** The value of a type; undefined for null. A message is merged into the existing one. */
function decodeValue(reader: WireReader, type: string, before?: Json): Json | undefined {
  const form = jsonFormOf(type)
  if (form !== undefined) return readers[form](reader.message())
  if (wireFieldsOf(type) === undefined) return decodeScalar(reader, type)
  return decodeMessage(reader.message(), type, isJsonObject(before) ? before : {})
}

/** Sets a field as typed clients write JSON: a zero that means "absent" is left out. */
function setOne(object: JsonObject, field: Field, value: Json | undefined): void {
  const isZero = value === '' || value === 0 || value === false
  if (value !== undefined && !(isZero && field.presence === 'implicit')) object[field.name] = value
  else if (Object.hasOwn(object, field.name)) delete object[field.name]
}

function append(object: JsonObject, name: string, value: Json | undefined): void {
  const list = ownValue(object, name)
  const element = value ?? null
  if (Array.isArray(list)) list.push(element)
  else object[name] = [element]
}

/** Reads an entry of a map: a message of key and value. If one of them is absent, it is zero. */
function decodeEntry(reader: WireReader, { name, type }: Field, object: JsonObject): void {
  let key = ''
  let value: Json | undefined = zeroOf(type)
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (number === 1 && wireType === BYTES) key = reader.text()
    else if (number === 2 && wireType === wireTypeOf(type)) value = decodeValue(reader, type)
    else reader.skip(wireType)
  }
  const found = ownValue(object, name)
  const map = isJsonObject(found) ? found : {}
  setOwn(map, key, value ?? null)
  object[name] = map
}

/** How values of a type are laid out. */
function wireTypeOf(type: string): number {
  return type === 'bool' || type === 'int32' || type === 'int64' ? VARINT : BYTES
}

/** A scalar as its JSON; bytes as base64. */
function decodeScalar(reader: WireReader, type: string): Json {
  if (type === 'string') return reader.text()
  if (type === 'bytes') return reader.bytes().toString('base64')
  const start = reader.offset
  const value = reader.varint()
  if (type === 'bool') return value !== 0
  if (type === 'int32' && value !== (value | 0)) {
    throw new WireFault(start, 'the number is out of range')
  }
  return value
}

/** The value that is assumed when an entry of a map omits it. */
function zeroOf(type: string): Json {
  const form = jsonFormOf(type)
  if (form === 'strings') return []
  if (form === 'quantity') return '0'
  return ''
}

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

/** Reads an IntOrString. Field 1 says which it is: 0 the number, 1 the text. */
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

/** Reads each occurrence of one length-delimited field; returns what was read last. */
function lastOf<Value>(reader: WireReader, wanted: number, read: () => Value): Value | undefined {
  let value: Value | undefined
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag()
    if (number === wanted && wireType === BYTES) value = read()
    else reader.skip(wireType)
  }
  return value
}
