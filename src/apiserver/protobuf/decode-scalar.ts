import type { Json } from '../../lib/json.ts'
import { jsonFormOf } from '../schema/json-form.ts'
import { WireFault } from './wire-fault.ts'
import { BYTES, VARINT, type WireReader } from './wire-reader.ts'

/** How values of a type are laid out. */
export function wireTypeOf(type: string): typeof VARINT | typeof BYTES {
  return type === 'bool' || type === 'int32' || type === 'int64' ? VARINT : BYTES
}

/** A scalar as its JSON; bytes as base64. */
export function decodeScalar(reader: WireReader, type: string): Json {
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

/** What a value is that the wire leaves out of an entry of a map. */
export function zeroOf(type: string): Json {
  const form = jsonFormOf(type)
  if (form === 'strings') return []
  if (form === 'quantity') return '0'
  return ''
}
