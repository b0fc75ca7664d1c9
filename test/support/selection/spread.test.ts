import { expect, test } from 'vitest'
import { spread } from './spread.ts'

test.each([
  ['', 'abc', 'abc'],
  ['X', '', 'X'],
  ['X', 'abc', 'Xabc'],
  ['XY', 'abcdef', 'XabcYdef'],
  ['XYZ', 'abcde', 'XabYcZde'],
  ['XYZ', 'a', 'aXYZ'],
])('%j among %j is %j', (few, many, mixed) => {
  expect(spread(Array.from(few), Array.from(many)).join('')).toBe(mixed)
})
