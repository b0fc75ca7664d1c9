import { fitsElement } from '../model/fits.ts'
import { isList, isObject, type Json, onlyMember } from '../model/json.ts'
import { evaluate } from './evaluate.ts'
import { type Evaluation, isUnknown } from './evaluated.ts'

/**
 * Seconds until the kernel forgets an element by which a statement decides about the packet; undefined: it looks up no
 * set or map whose elements have timeouts.
 */
export function secondsLeft(statement: Json, evaluation: Evaluation): number | undefined {
  if (isList(statement)) return firstOf(statement, evaluation)
  if (!isObject(statement)) return undefined
  const [name, inner] = onlyMember(statement) ?? []
  if (name === 'map' && isObject(inner)) {
    return ofElement(inner['key'] ?? null, inner['data'] ?? null, evaluation)
  }
  if (name === 'match' && isObject(inner) && inner['op'] === '==') {
    return ofElement(inner['left'] ?? null, inner['right'] ?? null, evaluation)
  }
  return firstOf(
    Object.values(statement).map((part) => part ?? null),
    evaluation,
  )
}

function firstOf(parts: readonly Json[], evaluation: Evaluation): number | undefined {
  for (const part of parts) {
    const found = secondsLeft(part, evaluation)
    if (found !== undefined) return found
  }
  return undefined
}

function ofElement(key: Json, name: Json, evaluation: Evaluation): number | undefined {
  if (typeof name !== 'string' || !name.startsWith('@')) return undefined
  const set = evaluation.table.sets.get(name.slice(1))
  const keys = set?.isTemporary === true ? evaluate(key, evaluation) : []
  if (set === undefined || isUnknown(keys) || keys.length !== 1) return undefined
  const { parts } = keys[0]!
  const keyOf = (element: Json): Json => (isList(element) ? (element[0] ?? null) : element)
  const elements = set.elements.withKey(parts) ?? []
  const element = elements.map(keyOf).find((one) => fitsElement(parts, one) === true)
  const [kind, inner] = onlyMember(element ?? null) ?? []
  const expires = kind === 'elem' && isObject(inner) ? inner['expires'] : undefined
  return typeof expires === 'number' ? expires : undefined
}
