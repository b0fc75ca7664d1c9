import { isList, isObject, type Json, onlyMember } from './json.ts'
import { literalNumber, type Part, prefixBounds } from './value.ts'

/** Whether a literal, prefix, range or list matches a value; undefined if the literal cannot be interpreted. */
export function fits(part: Part, literal: Json): boolean | undefined {
  const [name, inner] = onlyMember(literal) ?? []
  if (name === 'prefix' && isObject(inner))
    return inPrefix(part, inner['addr'] ?? null, inner['len'])
  if (name === 'range' && isList(inner)) return inRange(part, inner)
  if (name === 'set') return fitsAny([part], isList(inner) ? inner : [inner ?? null])
  if (name === 'elem' && isObject(inner)) return fits(part, inner['val'] ?? null)
  if (isList(literal)) return fitsAny([part], literal)
  if (isObject(literal)) return undefined
  if (literal === '*') return true
  const { kind, value } = part
  if (typeof value === 'object') return typeof literal === 'string' ? value.has(literal) : undefined
  if (typeof value === 'string')
    return typeof literal === 'string' ? fitsText(value, literal) : undefined
  const wanted = literalNumber(literal)
  if (wanted === undefined) return undefined
  return kind === 'address' && typeof literal === 'number' ? undefined : wanted === value
}

/** Whether the parts of a key match one of several elements; a `concat` describes each part. */
export function fitsAny(parts: readonly Part[], elements: readonly Json[]): boolean | undefined {
  let isKnown = true
  for (const element of elements) {
    const answer = fitsElement(parts, element)
    if (answer === true) return true
    if (answer === undefined) isKnown = false
  }
  return isKnown ? false : undefined
}

/** Whether the parts of a key match one element. */
export function fitsElement(parts: readonly Part[], element: Json): boolean | undefined {
  const [name, inner] = onlyMember(element) ?? []
  if (name === 'elem' && isObject(inner)) return fitsElement(parts, inner['val'] ?? null)
  if (element === '*') return true
  if (name !== 'concat' || !isList(inner)) {
    return parts.length === 1 ? fits(parts[0]!, element) : undefined
  }
  if (inner.length !== parts.length) return undefined
  const answers = parts.map((part, index) => fits(part, inner[index] ?? null))
  if (answers.includes(false)) return false
  return answers.includes(undefined) ? undefined : true
}

function inPrefix({ value }: Part, address: Json, length: Json | undefined) {
  const bounds = typeof length === 'number' ? prefixBounds(address, length) : undefined
  if (bounds === undefined || typeof value !== 'bigint') return undefined
  return value >= bounds[0] && value <= bounds[1]
}

function inRange({ value }: Part, [from, to]: readonly Json[]): boolean | undefined {
  const [first, last] = [literalNumber(from ?? null), literalNumber(to ?? null)]
  if (first === undefined || last === undefined || typeof value !== 'bigint') return undefined
  return value >= first && value <= last
}

/** Names of interfaces may end in `*`. */
function fitsText(value: string, literal: string): boolean {
  return literal.endsWith('*') ? value.startsWith(literal.slice(0, -1)) : value === literal
}
