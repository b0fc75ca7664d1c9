import { expect, test } from 'vitest'
import { newSigningKey, pemOf } from '../../auth/testing/forge.ts'
import { parseAccountKeys } from './account-keys.ts'

const [first, second, third] = [newSigningKey(), newSigningKey('RS256'), newSigningKey()]

function file(path: string, ...keys: readonly (typeof first)[]) {
  return { path, text: keys.map(({ privateKey }) => pemOf(privateKey)).join('\n') }
}

test('the first key of the first file signs, and those of all files verify, each once', () => {
  const keys = parseAccountKeys([file('/a', first, second), file('/b', third, first)])
  expect(keys.signing.id).toBe(first.id)
  expect(keys.verification.map(({ id }) => id)).toEqual([first.id, second.id, third.id])
})

test.each([
  ['the file holds no key in PEM', ''],
  ['the file holds no key in PEM', 'ssh-ed25519 AAAA'],
  [
    'the file holds a key that is cut off',
    `${pemOf(first.privateKey)}${pemOf(third.privateKey).slice(0, 90)}`,
  ],
])('%s: no key of the file is used', (message, text) => {
  expect(() => parseAccountKeys([{ path: '/k.pem', text }])).toThrow(
    `/k.pem: no key for tokens: ${message}`,
  )
})
