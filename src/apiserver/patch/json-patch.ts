import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { StatusError } from '../status/status.ts'
import { badRequest, tooLarge } from '../status/status-errors.ts'
import { PatchedDocument } from './patched-document.ts'

export interface JsonPatchLimits {
  readonly patchOperations: number
  readonly patchCopyBytes: number
  /** Nesting of the result. */
  readonly jsonDepth: number
}

/**
 * Items of lists that a patch may shift: it takes no longer than a few dozen
 * milliseconds, however long a list is that it inserts at the beginning of.
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

/** What is nested deeper than the stack goes fails like any other operation. */
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

/** Does one operation; says what is wrong where it does not fit. */
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
  return isDeepStrictEqual(found, value) ? undefined : `the test of ${quote(path)} failed`
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
