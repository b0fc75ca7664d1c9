import jsonPatch, { type Operation } from 'fast-json-patch'
import { isJsonObject, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { badRequest, tooLarge } from '../refusals.ts'
import type { Refusal } from '../status.ts'

export interface JsonPatchLimits {
  readonly patchOperations: number
  readonly patchCopyBytes: number
}

const OPERATIONS = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/**
 * RFC 6902 on a copy of `document`; a string says which operation does not fit.
 * Pointers are followed through own properties only, and what copies may add
 * is bounded.
 */
export function applyJsonPatch(
  document: JsonObject,
  patch: Json,
  limits: JsonPatchLimits,
): Json | string | Refusal {
  if (!Array.isArray(patch)) return badRequest('a JSON patch must be an array of operations')
  if (patch.length > limits.patchOperations) {
    return tooLarge(
      `The allowed maximum operations in a JSON patch is ${limits.patchOperations}, got ${patch.length}`,
    )
  }
  let result: Json = structuredClone(document)
  let copied = 0
  for (const [index, operation] of patch.entries()) {
    const problem = checkOperation(result, operation)
    if (problem !== undefined) return `operation ${index}: ${problem}`
    const op = operation as JsonObject
    if (op['op'] === 'copy') copied += sizeAt(result, stringAt(op, 'from'))
    if (copied > limits.patchCopyBytes)
      return tooLarge(`the copies of this patch add more than ${limits.patchCopyBytes} bytes`)
    try {
      result = jsonPatch.applyOperation(
        result,
        operation as unknown as Operation,
        true,
        true,
        true,
        index,
      ).newDocument
    } catch (error) {
      return `operation ${index}: ${(error as Error).message.split('\n')[0]}`
    }
  }
  return result
}

function checkOperation(document: Json, operation: Json): string | undefined {
  if (!isJsonObject(operation)) return 'it must be an object'
  const op = stringAt(operation, 'op')
  if (!OPERATIONS.has(op)) return `unknown op ${JSON.stringify(operation['op'] ?? null)}`
  if (typeof valueAt(operation, 'path') !== 'string') return 'path must be a string'
  const path = stringAt(operation, 'path')
  const target = op === 'add' || op === 'move' || op === 'copy' ? parentOf(path) : path
  if (!exists(document, target)) return `no such path: ${JSON.stringify(path)}`
  if (op !== 'move' && op !== 'copy') return undefined
  return exists(document, stringAt(operation, 'from')) ? undefined : 'no such path in from'
}

function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')))
}

function exists(document: Json, pointer: string): boolean {
  return at(document, pointer) !== undefined
}

/** The value at a JSON pointer, through own properties only. */
function at(document: Json, pointer: string): Json | undefined {
  if (pointer !== '' && !pointer.startsWith('/')) return undefined
  let value: Json | undefined = document
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value))
      value = /^(?:0|[1-9][0-9]*)$/.test(key) ? value[Number(key)] : undefined
    else value = valueAt(value, key)
  }
  return value
}

function sizeAt(document: Json, pointer: string): number {
  return JSON.stringify(at(document, pointer) ?? null).length
}
