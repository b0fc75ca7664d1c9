import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endOfObject } from './codec.ts'

test('an object ends at its own brace, whatever its strings hold', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('{', '}', '"', '\\', 'é') }))
  const object = fc.dictionary(text, fc.oneof(text, fc.jsonValue()))
  fc.assert(
    fc.property(object, fc.jsonValue(), (inner, rest) => {
      const bytes = Buffer.from(JSON.stringify(inner))
      const document = Buffer.from(`${bytes.toString()},${JSON.stringify(rest)}}`)
      expect(endOfObject(document, 1)).toBe(bytes.length)
    }),
  )
})

test.each(['{"a":1', '{"a', '{"a\\'])('broken bytes %s have an end too', (text) => {
  expect(endOfObject(Buffer.from(text), 1)).toBeGreaterThanOrEqual(text.length)
})
