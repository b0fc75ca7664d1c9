import { expect, test } from 'vitest'
import { newSigningKey, pemOf } from '../../auth/testing/forge.ts'
import { parseAccountKeys } from './account-keys.ts'

const [first, second, third] = [newSigningKey(), newSigningKey('RS256'), newSigningKey()]

/** A key with a passphrase, as old programs write it with headers that contain hyphens, and in PKCS #8. */
const WITH_PASSPHRASE = (['sec1', 'pkcs8'] as const).map((type) =>
  first.privateKey.export({ type, format: 'pem', cipher: 'aes-128-cbc', passphrase: 'p' }),
)

function file(path: string, ...keys: readonly (typeof first)[]) {
  return { path, text: keys.map(({ privateKey }) => pemOf(privateKey)).join('\n') }
}

test('the first key of the first file signs, and those of all files verify, each once', () => {
  const keys = parseAccountKeys([file('/a', first, second), file('/b', third, first)])
  expect(keys.signing.id).toBe(first.id)
  expect(keys.verification.map(({ id }) => id)).toEqual([first.id, second.id, third.id])
})

test.each<readonly [message: string, text: string]>([
  ['the file holds no key in PEM', ''],
  ['the file holds no key in PEM', 'ssh-ed25519 AAAA'],
  [
    'the file holds a key that is cut off',
    `${pemOf(first.privateKey)}${pemOf(third.privateKey).slice(0, 90)}`,
  ],
  ...WITH_PASSPHRASE.map((text) => ['the file holds a key with a passphrase', text] as const),
])('%s: no key of the file is used', (message, text) => {
  expect(() => parseAccountKeys([{ path: '/k.pem', text }])).toThrow(
    `/k.pem: no key for tokens: ${message}`,
  )
})
