import { expect, test } from 'vitest'
import { isSameValue } from './same-value.ts'

test.each<[unknown, unknown, boolean]>([
  [1, 1, true],
  [1, '1', false],
  [null, undefined, true],
  [{}, [], false],
  [[1, 2], [1, 2], true],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [{ a: 1, b: [{}] }, { b: [{}], a: 1 }, true],
  [{ a: null }, {}, true],
  [{ a: 1 }, {}, false],
  [{}, { toString: 1 }, false],
])('%j and %j: %s', (a, b, same) => {
  expect(isSameValue(a, b)).toBe(same)
})
