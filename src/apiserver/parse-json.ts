import { isJsonObject, type Json } from '../lib/json.ts'
import { badRequest } from './refusals.ts'
import type { Refusal } from './status.ts'

/**
 * The JSON document of a body: valid UTF-8, finite numbers, and no deeper than
 * code that walks it recursively can bear.
 */
export function parseJson(body: Buffer, depth: number): Json | Refusal {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return badRequest('the body is not valid UTF-8')
  }
  if (nestingOf(text) > depth) return badRequest(`the body is nested deeper than ${depth} levels`)
  let document: Json
  try {
    document = JSON.parse(text) as Json
  } catch (error) {
    return badRequest(`the body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
  return everyNumberFinite(document) ? document : badRequest('the body holds a number out of range')
}

/** The deepest nesting of brackets outside strings. */
function nestingOf(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}

function everyNumberFinite(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return (Array.isArray(value) ? value : Object.values(value)).every(everyNumberFinite)
}

/** A copy without the fields whose value is null: to a typed API they are absent. */
export function dropNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(dropNulls)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(entries.map(([key, field]) => [key, dropNulls(field)]))
}
