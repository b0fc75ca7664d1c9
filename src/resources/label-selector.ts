import type { Json } from '../lib/json.ts'
import { Reader } from './reader.ts'

/** Whether an object with these labels is selected; the selector must be valid. */
export function selects(selector: Reader, labels: Reader): boolean {
  const wanted = selector.object('matchLabels')
  return (
    wanted.keys().every((key) => labels.value(key) === wanted.value(key)) &&
    selector.objects('matchExpressions').every((expression) => holds(expression, labels))
  )
}

/** The same for an object as it is stored; `labels` may be absent. */
export function selectsLabels(selector: Json, labels: Json | undefined): boolean {
  return selects(Reader.of(selector, 'decode'), Reader.of(labels ?? {}, 'decode'))
}

function holds(expression: Reader, labels: Reader): boolean {
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
    default:
      return value === undefined
  }
}
