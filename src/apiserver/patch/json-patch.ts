import { isDeepEqual } from '../../lib/equal.ts'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  setOwn,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { badRequest, StatusError, tooLarge } from '../status/status.ts'

export interface JsonPatchLimits {
  readonly patchOperations: number
  readonly patchCopyBytes: number
  /** Nesting of the result. */
  readonly jsonDepth: number
}

/**
 * The limit of list items that a patch may shift. It takes a few dozen milliseconds to shift so many, for example by
 * inserting again and again at the beginning of a long list.
 */
const MAX_SHIFTED = 20_000_000

/**
 * RFC 6902 on a copy of `document`; a string says which operation does not fit.
 * Pointers are followed through own properties only, and what copies may add
 * is bounded.
 */
export function applyJsonPatch(
  document: JsonObject,
  patch: Json,
  limits: JsonPatchLimits,
): Json | string | StatusError {
  if (!Array.isArray(patch)) return badRequest('a JSON patch must be an array of operations')
  if (patch.length > limits.patchOperations) {
    return tooLarge(
      `The allowed maximum operations in a JSON patch is ${limits.patchOperations}, got ${patch.length}`,
    )
  }
  const patched = new PatchedDocument(document)
  for (const [index, operation] of patch.entries()) {
    const problem = tryPerform(patched, operation, limits)
    if (problem instanceof StatusError) return problem
    if (problem !== undefined) return `operation ${index}: ${problem}`
    if (patched.shifted > MAX_SHIFTED)
      return tooLarge(`this patch shifts more than ${MAX_SHIFTED} items of lists`)
  }
  const isTooDeep = isDeeper(patched.value, limits.jsonDepth)
  return isTooDeep ? `the result is nested deeper than ${limits.jsonDepth} levels` : patched.value
}

/** Performs an operation. If nesting exhausts the stack, the operation fails like any other. */
function tryPerform(
  patched: PatchedDocument,
  operation: Json,
  limits: JsonPatchLimits,
): string | StatusError | undefined {
  if (!isJsonObject(operation)) return 'it must be an object'
  try {
    return perform(patched, operation, limits)
  } catch (error) {
    if (error instanceof RangeError) return 'the document is nested too deeply'
    throw error
  }
}

function isDeeper(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  return (Array.isArray(value) ? value : Object.values(value)).some((part) => {
    return isDeeper(part, depth - 1)
  })
}

/** Performs one operation; returns the problem if it cannot be applied. */
function perform(
  patched: PatchedDocument,
  operation: JsonObject,
  limits: JsonPatchLimits,
): string | StatusError | undefined {
  const path = valueAt(operation, 'path')
  if (typeof path !== 'string') return 'path must be a string'
  const value = valueAt(operation, 'value')
  const op = stringAt(operation, 'op')
  switch (op) {
    case 'add':
    case 'replace':
      return value === undefined ? 'it has no value' : patched[op](path, structuredClone(value))
    case 'test':
      return testValue(patched, path, value)
    case 'remove':
      return patched.remove(path)
    case 'move':
      return patched.move(stringAt(operation, 'from'), path)
    case 'copy':
      return copy(patched, stringAt(operation, 'from'), path, limits)
    default:
      return `unknown op ${quote(operation['op'] ?? null)}`
  }
}

function testValue(
  patched: PatchedDocument,
  path: string,
  value: Json | undefined,
): string | undefined {
  const found = patched.at(path)
  if (found === undefined) return `no such path: ${quote(path)}`
  return isDeepEqual(found, value) ? undefined : `the test of ${quote(path)} failed`
}

function copy(
  patched: PatchedDocument,
  from: string,
  path: string,
  { patchCopyBytes }: JsonPatchLimits,
): string | StatusError | undefined {
  const problem = patched.copy(from, path)
  if (patched.copiedBytes <= patchCopyBytes) return problem
  return tooLarge(`the copies of this patch add more than ${patchCopyBytes} bytes`)
}

/**
 * A copy of a document that a JSON patch changes step by step. Every step returns its problem, or undefined.
 * Its cost is limited by the values that it names, except for copies and shifted list items, which are counted.
 */
class PatchedDocument {
  #value: Json
  #copiedBytes = 0
  #shifted = 0

  constructor(document: Json) {
    this.#value = structuredClone(document)
  }

  get value(): Json {
    return this.#value
  }

  /** Bytes of JSON that `copy` added. */
  get copiedBytes(): number {
    return this.#copiedBytes
  }

  /** The number of list items that moved because an item before them was added or removed. */
  get shifted(): number {
    return this.#shifted
  }

  at(path: string): Json | undefined {
    return valueAtPointer(this.#value, path)
  }

  add(path: string, value: Json): string | undefined {
    if (path === '') return this.#become(value)
    const location = locationOf(this.#value, path)
    if (location === undefined) return noSuchPath(path)
    const { parent, key } = location
    if (!Array.isArray(parent)) return setMember(location, value) ? undefined : noSuchPath(path)
    const index = key === '-' ? parent.length : indexOf(key)
    if (index === undefined || index > parent.length) return noSuchPath(path)
    this.#shifted += parent.length - index
    parent.splice(index, 0, value)
    return undefined
  }

  replace(path: string, value: Json): string | undefined {
    if (path === '') return this.#become(value)
    if (this.at(path) === undefined) return noSuchPath(path)
    const { parent, key } = locationOf(this.#value, path)!
    if (Array.isArray(parent)) parent[Number(key)] = value
    else setMember({ parent, key }, value)
    return undefined
  }

  remove(path: string): string | undefined {
    return this.#take(path) === undefined ? noSuchPath(path) : undefined
  }

  move(from: string, path: string): string | undefined {
    if (path.startsWith(`${from}/`)) return `${quote(from)} cannot be moved into itself`
    const value = from === path ? this.at(from) : this.#take(from)
    if (value === undefined) return noSuchFrom(from)
    return from === path ? undefined : this.add(path, value)
  }

  copy(from: string, path: string): string | undefined {
    const value = this.at(from)
    if (value === undefined) return noSuchFrom(from)
    const text = JSON.stringify(value)
    this.#copiedBytes += text.length
    return this.add(path, JSON.parse(text) as Json)
  }

  #become(value: Json): undefined {
    this.#value = value
    return undefined
  }

  /** Removes and returns a value; undefined when there is none, or when it is the whole document. */
  #take(path: string): Json | undefined {
    const location = locationOf(this.#value, path)
    if (location === undefined) return undefined
    const { parent, key } = location
    const value = valueAtPointer(this.#value, path)
    if (value === undefined) return undefined
    if (Array.isArray(parent)) {
      this.#shifted += parent.length - Number(key)
      parent.splice(Number(key), 1)
    } else if (isJsonObject(parent)) delete parent[key]
    return value
  }
}

function setMember({ parent, key }: Location, value: Json): boolean {
  if (!isJsonObject(parent)) return false
  setOwn(parent, key, value)
  return true
}

function noSuchPath(path: string): string {
  return `no such path: ${quote(path)}`
}

function noSuchFrom(from: string): string {
  return `no such path in from: ${quote(from)}`
}

/** An object or array of a document, and one of its keys; `-` is the position after the last item. */
interface Location {
  readonly parent: Json
  readonly key: string
}

/** The value at a JSON pointer (RFC 6901), through own properties only. */
function valueAtPointer(document: Json, pointer: string): Json | undefined {
  return keysOf(pointer)?.reduce<Json | undefined>(valueOf, document)
}

/** The location that a pointer names, whether or not it has a value; undefined: the pointer cannot be resolved. */
function locationOf(document: Json, pointer: string): Location | undefined {
  const keys = keysOf(pointer)
  const key = keys?.pop()
  const parent = keys?.reduce<Json | undefined>(valueOf, document)
  return key === undefined || parent === undefined ? undefined : { parent, key }
}

/** The index that a key stands for; undefined: it is not an index. */
function indexOf(key: string): number | undefined {
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
