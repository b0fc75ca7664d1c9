import { arrayAt, type Json, objectAt, scalarText, stringAt } from '../../../lib/json.ts'
import { isLabelValue, isQualifiedName } from '../../../resources/names.ts'
import type { Reader } from '../../../resources/reader.ts'

const OPERATORS_WITH_VALUES = ['In', 'NotIn']
const OPERATORS = [...OPERATORS_WITH_VALUES, 'Exists', 'DoesNotExist']
const PAIRS_FAULT = 'must map names of labels to values of labels, such as {"app": "web"}'

/** A map of labels that others must carry. */
export function checkMatchLabels(object: Reader, key: string): void {
  const labels = object.object(key)
  const isPair = (name: string): boolean => {
    const value = labels.value(name)
    return isQualifiedName(name) && isValue(value)
  }
  if (!labels.keys().every(isPair)) object.refuse(key, PAIRS_FAULT)
}

/** `matchLabels` and `matchExpressions`. */
export function checkLabelSelector(selector: Reader): void {
  checkMatchLabels(selector, 'matchLabels')
  for (const expression of selector.objects('matchExpressions')) {
    const key = expression.value('key')
    if (typeof key !== 'string' || !isQualifiedName(key)) {
      expression.refuse('key', 'must be the name of a label')
    }
    const operator = OPERATORS.find((one) => one === expression.value('operator'))
    if (operator === undefined) {
      expression.refuse('operator', { supported: OPERATORS })
    } else checkValues(expression, OPERATORS_WITH_VALUES.includes(operator))
  }
}

/** Whether a selector selects everything; the selector must have been checked. */
export function isEmptySelector(selector: Reader): boolean {
  const pairs = selector.object('matchLabels').keys().length
  return pairs + selector.list('matchExpressions').length === 0
}

function checkValues(expression: Reader, needed: boolean): void {
  const values = expression.list('values')
  if (needed !== values.length > 0) {
    const fault = needed ? 'must have a value for In and NotIn' : 'must be absent for this operator'
    expression.refuse('values', fault)
  }
  for (const [index, value] of values.entries()) {
    if (!isValue(value)) expression.refuseItem('values', index, 'must be the value of a label')
  }
}

function isValue(value: unknown): boolean {
  return typeof value === 'string' && isLabelValue(value)
}

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
