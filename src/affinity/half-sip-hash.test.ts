import { expect, test } from 'vitest'
import { type HashKey, halfSipHash } from './half-sip-hash.ts'

/** The bytes 0, 1, 2, … under the key 00 01 … 07: lib/tests/siphash_kunit.c of Linux. */
const KEY: HashKey = [0x03020100, 0x07060504]
const WORDS = Int32Array.of(0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514)

test.each([
  [0, 0x5814c896],
  [1, 0x7e059ea6],
  [2, 0x577999b1],
  [3, 0x6b28096c],
  [4, 0x8b31d501],
  [6, 0x57150ad7],
])('%i words hash as in Linux', (count, hash) => {
  expect(halfSipHash(WORDS, count, KEY) >>> 0).toBe(hash)
})

test('each half of the key counts, with the top bit set too', () => {
  const keys: readonly HashKey[] = [KEY, [0x03020101, KEY[1]], [KEY[0], 2 ** 32 - 1]]
  expect(new Set(keys.map((key) => halfSipHash(WORDS, 3, key))).size).toBe(3)
})
