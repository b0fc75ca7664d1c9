import { arrayAt, isJsonObject, type Json, type JsonObject, ownValue } from '../../../lib/json.ts'
import { type Field, jsonFormOf, messageOf, wireFieldsOf } from '../../schema/schema.ts'

/** Encodes an object as a typed client would; for tests. */
export function encodeBody(object: JsonObject): Buffer {
  const { apiVersion, kind } = object as { apiVersion: string; kind: string }
  const type = Buffer.concat([bytesField(1, apiVersion), bytesField(2, kind)])
  const message = encodeMessage(object, messageOf(apiVersion, kind)!)
  const envelope = [bytesField(1, type), bytesField(2, message), bytesField(3, '')]
  return Buffer.concat([Buffer.from('k8s\0'), ...envelope, bytesField(4, '')])
}

export function bytesField(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

export function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}

function encodeMessage(object: JsonObject, message: string): Buffer {
  const fields = [...wireFieldsOf(message)!.values()]
  return Buffer.concat(fields.flatMap((field) => encodeField(object, field)))
}

function encodeField(object: JsonObject, field: Field): readonly Buffer[] {
  const { name, number, type, shape } = field
  if (shape === 'inline') return [bytesField(number, encodeMessage(object, type))]
  const value = ownValue(object, name)
  if (value === undefined) return []
  if (shape === 'repeated') return arrayAt(value).map((item) => encodeValue(number, type, item))
  if (shape === 'one') return [encodeValue(number, type, value)]
  return Object.entries(value as JsonObject).map(([key, item]) =>
    bytesField(number, Buffer.concat([bytesField(1, key), encodeValue(2, type, item)])),
  )
}

function encodeValue(number: number, type: string, value: Json): Buffer {
  if (typeof value === 'boolean') return varintField(number, Number(value))
  if (type === 'bytes') return bytesField(number, Buffer.from(value as string, 'base64'))
  if (jsonFormOf(type) !== undefined) return bytesField(number, encodeForm(type, value))
  if (typeof value === 'number') return varintField(number, value)
  return isJsonObject(value)
    ? bytesField(number, encodeMessage(value, type))
    : bytesField(number, value as string)
}

function encodeForm(type: string, value: Json): Buffer {
  switch (jsonFormOf(type)!) {
    case 'time':
    case 'micro-time': {
      const [, seconds, fraction = '0'] = /^([^.Z]+)\.?(\d*)Z$/.exec(value as string)!
      const nanos = Number(fraction.padEnd(9, '0'))
      return Buffer.concat([
        varintField(1, Date.parse(`${seconds}Z`) / 1000),
        varintField(2, nanos),
      ])
    }
    case 'int-or-string':
      return typeof value === 'number'
        ? Buffer.concat([varintField(1, 0), varintField(2, value), bytesField(3, '')])
        : Buffer.concat([varintField(1, 1), varintField(2, 0), bytesField(3, value as string)])
    case 'quantity':
      return bytesField(1, value as string)
    case 'any':
      return bytesField(1, JSON.stringify(value))
    case 'strings':
      return Buffer.concat((value as string[]).map((item) => bytesField(1, item)))
  }
}
