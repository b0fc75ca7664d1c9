import type { Reader } from './reader.ts'

const LONGEST = 253
const FAULT = `must be a text of at most ${LONGEST} characters`

/** The name of a node or zone; empty when there is none. It is only ever compared. */
export function readNodeName(object: Reader, key: string): string {
  const value = object.value(key)
  if (value === undefined) return ''
  if (typeof value === 'string' && value.length <= LONGEST) return value
  object.refuse(key, FAULT, 'it is left out')
  return ''
}
