import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decryptValue, encryptValue, isEncrypted, keyNameOf } from './encrypted-value.ts'
import { Keyring } from './keyring.ts'
import { testKey } from './testing/test-keys.ts'

const KEY = testKey('key-1')
const KEYS = new Keyring([KEY])
const AT = '/secrets/default/db'
const TEXT = Buffer.from('{"data":{"password":"aHVudGVyMg=="}}')

test('what was encrypted decrypts to the same bytes, whatever they are', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const value = Buffer.from(bytes)
      const stored = encryptValue(KEY, AT, value)
      expect([isEncrypted(stored), keyNameOf(stored)]).toEqual([true, 'key-1'])
      expect(decryptValue(KEYS, AT, stored).value?.equals(value)).toBe(true)
    }),
  )
})

test('a change of any one bit, and an end that is missing, are refused', () => {
  const stored = encryptValue(KEY, AT, TEXT)
  for (let at = 0; at < stored.length; at++) {
    for (const bit of [1, 128]) {
      const changed = Buffer.from(stored)
      changed[at]! ^= bit
      expect([at, decryptValue(KEYS, AT, changed).cause]).toEqual([at, expect.any(String)])
    }
    expect(decryptValue(KEYS, AT, stored.subarray(0, at)).cause).toEqual(expect.any(String))
  }
  const longer = Buffer.concat([stored, Buffer.alloc(1)])
  expect(decryptValue(KEYS, AT, longer).cause).toContain('does not decrypt it')
})

test.each([['/secrets/default/other'], ['/secrets/default/d'], ['/secrets/other/db'], ['']])(
  'a value that was moved to %j is refused',
  (at) => {
    const cause = decryptValue(KEYS, at, encryptValue(KEY, AT, TEXT)).cause
    expect(cause).toContain('changed or moved')
  },
)

test('an unknown key is named, and another key of the same name decrypts nothing', () => {
  const stored = encryptValue(testKey('old'), AT, TEXT)
  expect(decryptValue(KEYS, AT, stored).cause).toContain('"old", which is not among')
  const another = new Keyring([testKey('old', 7)])
  expect(decryptValue(another, AT, stored).cause).toContain('another key of that name')
})

test('a key decrypts nothing under the name of another one', () => {
  const stored = encryptValue(testKey('a', 1), AT, TEXT)
  const renamed = Buffer.from(stored)
  renamed.write('b', stored.indexOf('a', 6), 'latin1')
  const keys = new Keyring([testKey('b', 1)])
  expect([keyNameOf(renamed), decryptValue(keys, AT, renamed).value]).toEqual(['b', undefined])
})

test('a form of a later version is reported as such, text in clear is not encrypted', () => {
  const later = encryptValue(KEY, AT, TEXT)
  later[4] = 2
  expect(decryptValue(KEYS, AT, later).cause).toContain('another version (2)')
  expect([isEncrypted(later), keyNameOf(later)]).toEqual([true, undefined])
  for (const clear of [TEXT, Buffer.alloc(0), Buffer.from('\0')]) {
    expect([isEncrypted(clear), keyNameOf(clear)]).toEqual([false, undefined])
    expect(decryptValue(KEYS, AT, clear).cause).toBe('it is not encrypted')
  }
})

test('no nonce is used twice, and equal values look different', () => {
  const all = Array.from({ length: 2000 }, () => encryptValue(KEY, AT, TEXT))
  const nonces = new Set(all.map((value) => value.toString('hex', 11, 23)))
  const texts = new Set(all.map((value) => value.toString('hex', 23)))
  expect([nonces.size, texts.size]).toEqual([2000, 2000])
})

test('neither causes nor a printed keyring show bytes of a key or of a value', () => {
  const stored = encryptValue(KEY, AT, TEXT)
  const causes = ['/x', '/y'].map((at) => decryptValue(KEYS, at, stored).cause)
  const shown = inspect([KEYS, KEYS.keys, causes], { depth: 9 }) + JSON.stringify([KEYS.keys])
  const bytes = KEY.secret.export()
  for (const secret of [bytes.toString('base64'), bytes.toString('hex'), 'aHVudGVy', 'kkkk']) {
    expect(shown).not.toContain(secret)
  }
})
