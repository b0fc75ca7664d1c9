import { isJsonObject, type Json } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'

/**
 * Says what a value must be and what it is: `must be a string, not a number`.
 * The value itself is shown only where it has the right type of JSON and is
 * wrong all the same: no refusal shows what is in a Secret.
 */
export function mustBe(wanted: string, value: Json, almost?: 'number' | 'string'): string {
  return `must be ${wanted}, not ${typeof value === almost ? quote(value) : typeOf(value)}`
}

function typeOf(value: Json): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'null'
  return isJsonObject(value) ? 'an object' : `a ${typeof value}`
}
