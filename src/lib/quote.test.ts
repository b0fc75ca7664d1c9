import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quote } from './quote.ts'

test.each<[unknown, string]>([
  [undefined, '(absent)'],
  [null, 'null'],
  [80, '80'],
  [true, 'true'],
  ['', '""'],
  ['a "b"', '"a \\"b\\""'],
  ['line\nbreak', '"line\\nbreak"'],
  ['\u001b[2J\u009b1m', '"\\u001b[2J\\u009b1m"'],
  ['a\u202eb\u2028c\u200bd\ufeffe', '"a\\u202eb\\u2028c\\u200bd\\ufeffe"'],
  ['\ud83d', '"\\ud83d"'],
  ['größer', '"größer"'],
  [[1, 'a', null], '[1,"a",null]'],
  [{ a: [], b: {} }, '{"a":[],"b":{}}'],
  [[[[[1]]]], '[[[…]]]'],
  [Array.from({ length: 12 }, () => 1), '[1,1,1,1,1,1,1,1,1,1,…]'],
])('%j is %s', (value, text) => {
  expect(quote(value)).toBe(text)
})

test('a long text is cut, never through a character', () => {
  expect(quote('x'.repeat(70_000))).toBe(`"${'x'.repeat(78)}…`)
  expect(quote(`x${'😀'.repeat(200)}`)).toBe(`"x${'😀'.repeat(38)}…`)
})

test('the deepest and the widest value are quoted at once', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  expect(quote(deep)).toBe('[[[…]]]')
  const wide = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, deep]))
  expect(quote(wide)).toHaveLength(80)
})

test('is short, printable and on one line for anything', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
      for (const quoted of [quote(value), quote(text), quote({ [text]: text })]) {
        expect(quoted.length).toBeLessThanOrEqual(80)
        expect(quoted).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
        expect(quoted.isWellFormed()).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})
