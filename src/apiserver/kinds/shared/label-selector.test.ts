import { expect, test } from 'vitest'
import { type Raw, Reader } from '../../../resources/reader.ts'
import { placesOf } from '../../../resources/testing/raw-objects.ts'
import { checkLabelSelector, isEmptySelector } from './label-selector.ts'

function read(raw: Raw): Reader {
  return Reader.of(raw, 'validate')
}

test.each<[Raw, boolean]>([
  [{}, true],
  [{ matchLabels: {}, matchExpressions: [] }, true],
  [{ matchLabels: { app: 'web' } }, false],
  [{ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['x'] }] }, false],
])('the selector %j is sound, and selects everything: %s', (raw, expected) => {
  const selector = read(raw)
  checkLabelSelector(selector)
  expect(selector.findings.all).toEqual([])
  expect(isEmptySelector(selector)).toBe(expected)
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
