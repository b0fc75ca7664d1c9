import { isDeepEqual } from '../../lib/equal.ts'
import { isJsonObject, type Json, type JsonObject, ownValue, setOwn } from '../../lib/json.ts'
import type { Filter, Operand, Operator, Path, Step, Template } from './parse-template.ts'

/** The values that a path finds, starting at `current`; `$` starts at `root`. Missing fields give no value. */
export function evaluate(path: Path, current: Json, root: Json): readonly Json[] {
  let values: readonly Json[] = [current]
  for (const step of path) {
    values = step.type === 'root' ? [root] : values.flatMap((value) => follow(step, value, root))
  }
  return values
}

function follow(step: Step, value: Json, root: Json): readonly Json[] {
  switch (step.type) {
    case 'root':
      return [root]
    case 'field':
      return field(value, step.name)
    case 'wildcard':
      return children(value)
    case 'descend':
      return descendants(value)
    case 'slice':
      return slice(value, step)
    case 'union':
      return step.parts.flatMap((part) => follow(part, value, root))
    case 'filter':
      return children(value).filter((child) => passes(step.filter, child, root))
  }
}

function field(value: Json, name: string): readonly Json[] {
  const found = isJsonObject(value) ? ownValue(value, name) : undefined
  return found === undefined ? [] : [found]
}

function children(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value
  return isJsonObject(value) ? Object.values(value) : []
}

/** The value and all values inside of it, in document order. */
function descendants(value: Json): readonly Json[] {
  return [value, ...children(value).flatMap(descendants)]
}

function slice(value: Json, { from, to, step = 1 }: Extract<Step, { type: 'slice' }>) {
  if (!Array.isArray(value) || step <= 0) return []
  return value.slice(from ?? 0, to).filter((_, index) => index % step === 0)
}

function passes({ left, operator, right }: Filter, child: Json, root: Json): boolean {
  const [one] = operandValues(left, child, root)
  if (operator === undefined || right === undefined) return one !== undefined
  const [other] = operandValues(right, child, root)
  return one !== undefined && other !== undefined && compare(operator, one, other)
}

function operandValues(operand: Operand, child: Json, root: Json): readonly Json[] {
  return 'literal' in operand ? [operand.literal] : evaluate(operand.path, child, root)
}

function compare(operator: Operator, one: Json, other: Json): boolean {
  if (operator === '==') return isDeepEqual(one, other)
  if (operator === '!=') return !isDeepEqual(one, other)
  if (typeof one !== typeof other) return false
  if (typeof one !== 'number' && typeof one !== 'string') return false
  const order = one < (other as typeof one) ? -1 : one > (other as typeof one) ? 1 : 0
  if (operator === '<') return order < 0
  if (operator === '<=') return order <= 0
  return operator === '>' ? order > 0 : order >= 0
}

/** The text of a template for a document. The values of one path are separated by spaces. */
export function expand(template: Template, document: Json): string {
  return expandParts(template, document, document)
}

function expandParts(template: Template, current: Json, root: Json): string {
  return template
    .map((part) => {
      if (part.type === 'text') return part.text
      const values = evaluate(part.path, current, root)
      return part.type === 'path'
        ? values.map(valueText).join(' ')
        : values.map((value) => expandParts(part.body, value, root)).join('')
    })
    .join('')
}

/** A string unchanged; any other value as JSON. */
export function valueText(value: Json): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' ? JSON.stringify(sortedValue(value)) : String(value)
}

/** A copy whose objects have their keys in order, as kubectl prints them. */
export function sortedValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortedValue)
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [key, inner] of entries) setOwn(copy, key, sortedValue(inner))
  return copy
}
