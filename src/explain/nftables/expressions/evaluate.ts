import { isList, isObject, type Json, type JsonObject, onlyMember, textOf } from '../model/json.ts'
import { literalNumber, numberPart, type Part, textPart } from '../model/value.ts'
import { type Chance, certain, type Evaluated, type Evaluation, isUnknown } from './evaluated.ts'
import { connection, fib, meta, payload } from './fields.ts'
import { lookUp, setOf } from './look-up.ts'

/** Of a generator with more values the outcome is not known. */
const MAX_VALUES = 4096

const FIELDS: Readonly<Record<string, (of: JsonObject, evaluation: Evaluation) => Evaluated>> = {
  payload,
  meta,
  ct: connection,
  fib,
}

const OPERATIONS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
}

/** The values that an expression of `nft -j` may have for a packet. */
export function evaluate(expression: Json, evaluation: Evaluation): Evaluated {
  const [name, inner] = onlyMember(expression) ?? []
  if (name === undefined) return literal(expression)
  const field = FIELDS[name]
  if (field !== undefined && isObject(inner)) return field(inner, evaluation)
  if (name === 'concat' && isList(inner)) return concat(inner, evaluation)
  if (name === 'map' && isObject(inner)) return mapped(inner, evaluation)
  if (name === 'numgen' || name === 'jhash' || name === 'symhash') return generated(inner)
  const operation = OPERATIONS[name]
  if (operation !== undefined && isList(inner)) return combined(operation, inner, evaluation)
  return { unknown: `the expression ${name}` }
}

function literal(value: Json): Evaluated {
  const number = literalNumber(value)
  if (number !== undefined) {
    const isAddress = typeof value === 'string' && /[.:]/.test(value)
    return certain(numberPart(number, isAddress ? 'address' : 'number'))
  }
  return typeof value === 'string' ? certain(textPart(value)) : { unknown: JSON.stringify(value) }
}

/** Every combination of the values of its parts. */
function concat(expressions: readonly Json[], evaluation: Evaluation): Evaluated {
  let combined: readonly Chance[] = [{ probability: 1, parts: [] }]
  for (const expression of expressions) {
    const next = evaluate(expression, evaluation)
    if (isUnknown(next)) return next
    combined = combined.flatMap((one) =>
      next.map((other) => ({
        probability: one.probability * other.probability,
        parts: [...one.parts, ...other.parts],
      })),
    )
  }
  return combined
}

/** Values of a map; those whose key has no element are left out: the rule does not apply to them. */
function mapped({ key, data }: JsonObject, evaluation: Evaluation): Evaluated {
  const keys = evaluate(key ?? null, evaluation)
  if (isUnknown(keys)) return keys
  const set = setOf(data ?? null, evaluation)
  if ('unknown' in set) return set
  const found: Chance[] = []
  for (const { probability, parts } of keys) {
    const value = lookUp(set, parts)
    if (isObject(value) && 'unknown' in value) return { unknown: textOf(value['unknown']) }
    if (value === undefined) continue
    const evaluated = evaluate(value, evaluation)
    if (isUnknown(evaluated)) return evaluated
    found.push(...evaluated.map((one) => ({ ...one, probability: one.probability * probability })))
  }
  return found
}

/** Random numbers and hashes of the client's port: each value is as likely as the others. */
function generated(inner: Json | undefined): Evaluated {
  const { mod = 0, offset = 0 } = isObject(inner) ? inner : {}
  const count = Number(mod)
  if (!(count >= 1 && count <= MAX_VALUES)) return { unknown: `a number of ${count}` }
  const probability = 1 / count
  return Array.from({ length: count }, (_, index) => ({
    ...{ probability, parts: [numberPart(index + Number(offset))] },
  }))
}

function combined(
  operation: (a: bigint, b: bigint) => bigint,
  [left, right]: readonly Json[],
  evaluation: Evaluation,
): Evaluated {
  const [one, other] = [evaluate(left ?? null, evaluation), evaluate(right ?? null, evaluation)]
  if (isUnknown(one)) return one
  if (isUnknown(other)) return other
  return one.flatMap((a) =>
    other.map((b) => ({
      probability: a.probability * b.probability,
      parts: [combine(operation, a.parts[0], b.parts[0])],
    })),
  )
}

function combine(
  operation: (a: bigint, b: bigint) => bigint,
  a: Part | undefined,
  b: Part | undefined,
): Part {
  if (typeof a?.value !== 'bigint' || typeof b?.value !== 'bigint') return textPart('?')
  return { kind: a.kind, value: operation(a.value, b.value) }
}
