import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commentOf } from './statements.ts'

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('"; flush ruleset', '$(reboot)', '\n\r\0"', '\\"', '🦊'.repeat(90), '*/?#'),
)

test('the comment of an ordinary entry is its id', () => {
  expect(commentOf('shop/cart:http/TCP/4')).toBe('shop/cart:http/TCP/4')
})

test('a comment never has more than 100 characters, and none that ends a quoted text', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const comment = commentOf(text)
      expect(comment).toMatch(/^[A-Za-z0-9._/:-]*$/)
      expect(comment).toHaveLength(Math.min(text.length, 100))
    }),
  )
})
