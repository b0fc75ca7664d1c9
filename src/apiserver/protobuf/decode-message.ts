import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'
import { jsonFormOf } from '../schema/json-form.ts'
import { type Field, wireFieldsOf } from '../schema/schema.ts'
import { decodeForm } from './decode-form.ts'
import { decodeScalar, wireTypeOf, zeroOf } from './decode-scalar.ts'
import { WireFault } from './wire-fault.ts'
import { BYTES, type WireReader } from './wire-reader.ts'

/**
 * Reads one message into the object that its JSON would have given. Fields that
 * the schema does not know are skipped; of a field that comes twice the last
 * counts, and messages are merged. The schema has no cycles: it bounds the depth.
 */
export function decodeMessage(
  reader: WireReader,
  message: string,
  object: JsonObject = {},
): JsonObject {
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
    return decodePacked(reader.message(), field, object)
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

/** The value of a type; undefined for a null. A message continues the one that is there. */
function decodeValue(reader: WireReader, type: string, before?: Json): Json | undefined {
  if (jsonFormOf(type) !== undefined) return decodeForm(reader.message(), type)
  if (wireFieldsOf(type) === undefined) return decodeScalar(reader, type)
  return decodeMessage(reader.message(), type, isJsonObject(before) ? before : {})
}

/** As a typed client writes JSON: a zero that means nothing is left out. */
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

function decodePacked(reader: WireReader, { name, type }: Field, object: JsonObject): void {
  while (!reader.isAtEnd) append(object, name, decodeScalar(reader, type))
}

/** An entry of a map: a message of key and value; an absent one of them is its zero. */
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
