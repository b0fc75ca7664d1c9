import { isJsonObject, type Json } from '../../lib/json.ts'
import { badRequest, type StatusError, tooLarge } from '../status/status.ts'

/**
 * The limit of values in a client's document: more than the largest objects in use have, and few enough that
 * processing all of them does not delay other requests.
 */
export const MAX_VALUES = 50_000

/**
 * The JSON document of a body. It must be valid UTF-8 with finite numbers, and its number of values and its
 * nesting are limited, because other code walks it recursively.
 */
export function parseJson(body: Buffer, depth: number): Json | StatusError {
  const shape = jsonShape(body)
  if (shape.depth > depth) return badRequest(`the body is nested deeper than ${depth} levels`)
  if (shape.values > MAX_VALUES)
    return tooLarge(`the body holds more than ${MAX_VALUES} fields and items`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return badRequest('the body is not valid UTF-8')
  }
  let document: Json
  try {
    document = JSON.parse(text) as Json
  } catch (error) {
    return badRequest(`the body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
  return everyNumberFinite(document) ? document : badRequest('the body holds a number out of range')
}

function everyNumberFinite(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return (Array.isArray(value) ? value : Object.values(value)).every(everyNumberFinite)
}

/** A copy without the fields whose value is null, which a typed API treats as absent. */
export function dropNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(dropNulls)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(entries.map(([key, field]) => [key, dropNulls(field)]))
}

/** The size of a JSON text for code that walks it. */
interface JsonShape {
  /** The deepest nesting of brackets outside strings. */
  readonly depth: number
  /** An upper bound of the number of values. */
  readonly values: number
}

/** The shape of a text, without parsing it; the text need not be valid JSON. */
export function jsonShape(text: Uint8Array): JsonShape {
  let depth = 0
  let deepest = 0
  let values = 1
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text[index]
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x2c) values++
    else if (code === 0x7b || code === 0x5b) {
      values++
      deepest = Math.max(deepest, ++depth)
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return { depth: deepest, values }
}
