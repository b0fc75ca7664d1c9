import type { Reader } from './reader.ts'

const MAX_LENGTH = 253
const FAULT = `must be a text of at most ${MAX_LENGTH} characters`

/** The name of a node or zone; empty if absent. Names are only compared. */
export function readNodeName(object: Reader, key: string): string {
  const value = object.value(key)
  if (value === undefined) return ''
  if (typeof value === 'string' && value.length <= MAX_LENGTH) return value
  object.refuse(key, FAULT, 'it is left out')
  return ''
}
