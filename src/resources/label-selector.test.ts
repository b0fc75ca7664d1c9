import { expect, test } from 'vitest'
import { selects } from './label-selector.ts'
import { type Raw, Reader } from './reader.ts'

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
  expect(selects(selector, read(LABELS))).toBe(expected)
})

test('all of a selector must hold, and an empty one holds always', () => {
  const matchLabels = { app: 'web' }
  expect(selects(read({ matchLabels }), read(LABELS))).toBe(true)
  expect(selects(read({ matchLabels: { app: 'x' } }), read(LABELS))).toBe(false)
  const gone = { key: 'app', operator: 'DoesNotExist' }
  expect(selects(read({ matchLabels, matchExpressions: [gone] }), read(LABELS))).toBe(false)
  expect(selects(read({ matchLabels: { toString: 'x' } }), read({}))).toBe(false)
  expect(selects(read({}), read({}))).toBe(true)
})
