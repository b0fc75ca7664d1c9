import { arrayAt, type Json, objectAt, scalarText, stringAt } from '../../../lib/json.ts'

/** A selector as text for people; `<none>` if it is empty. */
export function selectorText(selector: Json | undefined): string {
  return queryText(selector) || '<none>'
}

/** A label selector as the text of a query: `app=web,tier in (a,b),!old`. */
export function queryText(selector: Json | undefined): string {
  const pairs = Object.entries(objectAt(selector, 'matchLabels')).map(
    ([key, value]) => `${key}=${scalarText(value)}`,
  )
  const expressions = arrayAt(selector, 'matchExpressions').map(expressionText)
  return [...pairs, ...expressions].join(',')
}

function expressionText(expression: Json): string {
  const key = stringAt(expression, 'key')
  const values = arrayAt(expression, 'values').map(scalarText).join(',')
  switch (stringAt(expression, 'operator')) {
    case 'In':
      return `${key} in (${values})`
    case 'NotIn':
      return `${key} notin (${values})`
    case 'Exists':
      return key
    default:
      return `!${key}`
  }
}
