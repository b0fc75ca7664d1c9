import { isJsonObject, type Json, ownValue } from '../../lib/json.ts'

/** An object or array of a document, and one of its keys; `-` is the position after the last item. */
export interface Location {
  readonly parent: Json
  readonly key: string
}

/** The value at a JSON pointer (RFC 6901), through own properties only. */
export function valueAtPointer(document: Json, pointer: string): Json | undefined {
  return keysOf(pointer)?.reduce<Json | undefined>(valueOf, document)
}

/** Where a pointer leads, whether or not there is a value; undefined where it cannot. */
export function locationOf(document: Json, pointer: string): Location | undefined {
  const keys = keysOf(pointer)
  const key = keys?.pop()
  const parent = keys?.reduce<Json | undefined>(valueOf, document)
  return key === undefined || parent === undefined ? undefined : { parent, key }
}

/** The index that a key names; undefined: none. */
export function indexOf(key: string): number | undefined {
  return /^(?:0|[1-9][0-9]{0,9})$/.test(key) ? Number(key) : undefined
}

function keysOf(pointer: string): string[] | undefined {
  if (pointer !== '' && !pointer.startsWith('/')) return undefined
  const keys = pointer.split('/').slice(1)
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function valueOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return value[indexOf(key) ?? value.length]
  return isJsonObject(value) ? ownValue(value, key) : undefined
}
