import type { Json } from '../lib/json.ts'
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
  return selects(Reader.of(selector, 'decode'), Reader.of(labels ?? {}, 'decode'))
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
