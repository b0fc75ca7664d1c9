import { isJsonObject, type Json, ownValue } from '../lib/json.ts'
import { Reader } from './reader.ts'

/** Whether a `LabelSelector` selects an object with these labels. The selector must be valid. */
export function selects(selector: Reader, labels: Reader): boolean {
  const wanted = selector.object('matchLabels')
  return (
    wanted.keys().every((key) => labels.value(key) === wanted.value(key)) &&
    selector.objects('matchExpressions').every((expression) => matches(expression, labels))
  )
}

/** Like `selects`, for a selector and labels as they are stored. If `labels` is undefined, the object has none. */
export function selectsLabels(selector: Json, labels: Json | undefined): boolean {
  return labelMatcher(selector)(labels)
}

/** The same for many labels: reads the selector once. */
export function labelMatcher(selector: Json): (labels: Json | undefined) => boolean {
  const read = Reader.of(selector, 'decode')
  const matchLabels = read.object('matchLabels')
  const wanted = matchLabels.keys().map((key) => [key, matchLabels.value(key)] as const)
  const expressions = read.objects('matchExpressions')
  return (labels) => {
    const present = isJsonObject(labels) ? labels : {}
    if (!wanted.every(([key, value]) => (ownValue(present, key) ?? undefined) === value))
      return false
    if (expressions.length === 0) return true
    const object = Reader.of(present, 'decode')
    return expressions.every((expression) => matches(expression, object))
  }
}

/** Whether labels match one of `matchExpressions`. NotIn also matches labels without the key, as in Kubernetes. */
function matches(expression: Reader, labels: Reader): boolean {
  const key = expression.value('key')
  const value = typeof key === 'string' ? labels.value(key) : undefined
  const isListed = expression.list('values').includes(value)
  switch (expression.value('operator')) {
    case 'In':
      return value !== undefined && isListed
    case 'NotIn':
      return !isListed
    case 'Exists':
      return value !== undefined
    default: // DoesNotExist
      return value === undefined
  }
}
