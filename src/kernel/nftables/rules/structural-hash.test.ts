import fc from 'fast-check'
import { expect, test } from 'vitest'
import { finished, withBytes, withValue } from './digest.ts'

const hash = (value: unknown) => finished(withValue(7, value))
const leaf = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
  ),
}))

test('equal values have equal hashes, whatever the order of fields', () => {
  const fields = fc.dictionary(fc.string(), value, { maxKeys: 5 })
  fc.assert(
    fc.property(fields, (given) => {
      const reversed = Object.fromEntries(Object.entries(given).toReversed())
      expect(hash({ ...reversed, absent: undefined })).toBe(hash(given))
    }),
  )
})

test('what looks alike is different', () => {
  const alike = [
    '',
    '0',
    'false',
    0,
    1,
    -1,
    2 ** 32,
    2 ** 32 + 1,
    true,
    false,
    [],
    [[]],
    [0],
    ['a', 'b'],
    ['ab'],
    {},
    { a: 'b' },
    { b: 'a' },
    { a: { b: 'c' } },
    { a: { b: 'c', d: 'e' } },
    { a: { b: 'c' }, d: 'e' },
    Buffer.from('a'),
    'a',
    Buffer.alloc(3),
    Buffer.alloc(4),
    Buffer.alloc(5),
    Buffer.from([0, 0, 0, 0, 1]),
    [undefined],
  ]
  expect(new Set(alike.map(hash)).size).toBe(alike.length)
})

test('every bit of bytes counts', () => {
  const zero = Buffer.alloc(24)
  const hashes = new Set([withBytes(1, zero)])
  for (let bit = 0; bit < 192; bit++) {
    const one = Buffer.alloc(24)
    one[bit >> 3] = 1 << (bit & 7)
    hashes.add(withBytes(1, one))
  }
  expect(hashes.size).toBe(193)
})

test.each([null, () => 0, Symbol('x'), 1n])('there is no hash of %s', (given) => {
  expect(() => withValue(0, given)).toThrow(TypeError)
})
