import { evaluate } from '../expressions/evaluate.ts'
import { type Chance, type Evaluation, isUnknown } from '../expressions/evaluated.ts'
import { isIn, setOf } from '../expressions/look-up.ts'
import { fits, fitsAny } from '../model/fits.ts'
import { isList, type Json, type JsonObject, onlyMember, textOf } from '../model/json.ts'
import type { Part } from '../model/value.ts'

/** How likely a match applies, or why that is not known. */
export type Likelihood = number | { readonly unknown: string }

/** `match`: an expression compared with a literal, a set, or another expression. */
export function matchLikelihood(
  { op, left, right }: JsonObject,
  evaluation: Evaluation,
): Likelihood {
  const values = evaluate(left ?? null, evaluation)
  if (isUnknown(values)) return values
  let total = 0
  for (const { probability, parts } of values) {
    const answer = compare(textOf(op), parts, right ?? null, evaluation)
    if (answer === undefined) return { unknown: `what is compared by ${textOf(op)}` }
    if (typeof answer === 'object') return answer
    if (answer) total += probability
  }
  return total
}

type Comparison = boolean | undefined | { readonly unknown: string }

function compare(
  op: string,
  parts: readonly Part[],
  right: Json,
  evaluation: Evaluation,
): Comparison {
  if (op === '!=' || op === '!') {
    const answer = isEqual(parts, right, evaluation)
    return typeof answer === 'boolean' ? !answer : answer
  }
  if (op === '==' || op === 'in') return isEqual(parts, right, evaluation)
  return ordered(op, parts[0], right, evaluation)
}

function isEqual(parts: readonly Part[], right: Json, evaluation: Evaluation): Comparison {
  if (typeof right === 'string' && right.startsWith('@')) {
    const set = setOf(right, evaluation)
    return 'unknown' in set ? set : isIn(set, parts)
  }
  const [name, inner] = onlyMember(right) ?? []
  if (name === 'set' && isList(inner)) return fitsAny(parts, inner)
  if (name === undefined || name === 'prefix' || name === 'range' || isList(right)) {
    return parts.length === 1 ? fits(parts[0]!, right) : undefined
  }
  if (name === 'concat') return fitsAny(parts, [right])
  const other = certainOf(right, evaluation)
  if (other === undefined) return undefined
  return parts.every(({ value }, index) => value === other.parts[index]?.value)
}

function ordered(
  op: string,
  part: Part | undefined,
  right: Json,
  evaluation: Evaluation,
): Comparison {
  const a = part?.value
  const b = certainOf(right, evaluation)?.parts[0]?.value
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return undefined
  if (op === '<') return a < b
  if (op === '<=') return a <= b
  if (op === '>') return a > b
  return op === '>=' ? a >= b : undefined
}

function certainOf(expression: Json, evaluation: Evaluation): Chance | undefined {
  const values = evaluate(expression, evaluation)
  return isUnknown(values) || values.length !== 1 ? undefined : values[0]
}
