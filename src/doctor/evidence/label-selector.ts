import { arrayAt, type Json, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { selects } from './objects.ts'

type Labels = Readonly<Record<string, string>>

/** Whether a LabelSelector (matchLabels, matchExpressions) selects labels; an empty one selects all. */
export function matchesSelector(selector: Json | undefined, labels: Labels): boolean {
  const wanted = Object.entries((valueAt(selector, 'matchLabels') ?? {}) as object).map(
    ([key, value]) => [key, scalarText(value as Json)],
  )
  return (
    selects(Object.fromEntries(wanted) as Labels, labels) &&
    arrayAt(selector, 'matchExpressions').every((one) => matchesExpression(one, labels))
  )
}

function matchesExpression(expression: Json, labels: Labels): boolean {
  const value = labels[stringAt(expression, 'key')]
  const isListed = value !== undefined && arrayAt(expression, 'values').includes(value)
  switch (stringAt(expression, 'operator')) {
    case 'In':
      return isListed
    case 'NotIn':
      return !isListed
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}
