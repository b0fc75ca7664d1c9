/**
 * Values in a document of a client: more than the largest objects in use have, and few
 * enough that work on each of them does not delay other requests.
 */
export const MAX_VALUES = 50_000

/** How large a JSON text is to code that walks it. */
export interface JsonShape {
  /** The deepest nesting of brackets outside strings. */
  readonly depth: number
  /** How many values it can hold at the most. */
  readonly values: number
}

/** The shape of a text, be it JSON or not, without parsing it. */
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
