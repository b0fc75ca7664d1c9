import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentHash, hashName } from './hash.ts'

test('names are the first characters of base64url SHA-256', () => {
  expect(hashName('', 19)).toBe('47DEQpj8HBSa-_TImW-')
  expect(hashName('abc', 43)).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
})

test('content hashes are the first 52 bits of SHA-256', () => {
  expect(contentHash('')).toBe(0xe3b0c44298fc1)
  expect(contentHash('abc')).toBe(0xba7816bf8f01c)
})

test('every text has a name of the safe alphabet and a hash that a number holds exactly', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(hashName(text, 19)).toMatch(/^[A-Za-z0-9_-]{19}$/)
      expect(Number.isSafeInteger(contentHash(text))).toBe(true)
    }),
  )
})
