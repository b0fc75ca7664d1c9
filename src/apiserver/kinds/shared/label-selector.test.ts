import { expect, test } from 'vitest'
import { selects } from '../../../resources/label-selector.ts'
import type { Raw } from '../../../resources/raw.ts'
import { Reader } from '../../../resources/reader.ts'
import { placesOf } from '../../../resources/testing/raw-objects.ts'
import { checkLabelSelector, isEmptySelector } from './label-selector.ts'

function read(raw: Raw): Reader {
  return Reader.of(raw, 'validate')
}

const LABELS = { app: 'web', empty: '' }

test.each<[string, string, readonly string[], boolean]>([
  ['app', 'In', ['web', 'x'], true],
  ['app', 'In', ['x'], false],
  ['none', 'In', [''], false],
  ['app', 'NotIn', ['x'], true],
  ['none', 'NotIn', ['x'], true],
  ['app', 'NotIn', ['web'], false],
  ['empty', 'Exists', [], true],
  ['none', 'Exists', [], false],
  ['none', 'DoesNotExist', [], true],
  ['app', 'DoesNotExist', [], false],
])('%s %s %j: %s', (key, operator, values, expected) => {
  const selector = read({ matchExpressions: [{ key, operator, values }] })
  checkLabelSelector(selector)
  expect(selector.findings.all).toEqual([])
  expect(isEmptySelector(selector)).toBe(false)
  expect(selects(selector, read(LABELS))).toBe(expected)
})

test('all of a selector must hold, and an empty one holds always', () => {
  const matchLabels = { app: 'web' }
  expect(selects(read({ matchLabels }), read(LABELS))).toBe(true)
  expect(selects(read({ matchLabels: { app: 'x' } }), read(LABELS))).toBe(false)
  const gone = { key: 'app', operator: 'DoesNotExist' }
  expect(selects(read({ matchLabels, matchExpressions: [gone] }), read(LABELS))).toBe(false)
  expect(selects(read({ matchLabels: { toString: 'x' } }), read({}))).toBe(false)
  expect([selects(read({}), read({})), isEmptySelector(read({}))]).toEqual([true, true])
})

test.each<[Raw, readonly string[]]>([
  [{ key: 'a b', operator: 'Exists' }, ['key "a b"']],
  [{ key: 'a', operator: 'Like' }, ['operator "Like"']],
  [{ key: 'a', operator: 'In' }, ['values (absent)']],
  [{ key: 'a', operator: 'Exists', values: ['x'] }, ['values ["x"]']],
  [{ key: 'a', operator: 'NotIn', values: ['a b'] }, ['values[0] "a b"']],
])('the expression %j is refused: %j', (expression, expected) => {
  const selector = read({ matchExpressions: [expression] })
  checkLabelSelector(selector)
  const places = expected.map((place) => `matchExpressions[0].${place}`)
  expect(placesOf(selector.findings.all)).toEqual(places)
})
