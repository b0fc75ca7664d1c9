import { createHash, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { newSigningKey, pemOf } from '../testing/forge.ts'
import { readSigningKey, readVerificationKey, toJwk } from './signing-key.ts'

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey

test.each([
  ['ES256', ec('P-256')],
  ['RS256', rsa(2048)],
] as const)('%s: a key is known by the hash of its public part', (algorithm, key) => {
  const signing = readSigningKey(pemOf(key), 'a test')
  const der = signing.key.export({ type: 'spki', format: 'der' })
  const id = createHash('sha256').update(der).digest('base64url')
  expect(signing).toMatchObject({ algorithm, id })
  const { id: same } = readVerificationKey(pemOf(key), 'a test')
  expect(same).toBe(id)
})

test.each([
  ['RSA of 1024 bits', rsa(1024), 'it is a key of type rsa'],
  ['curve P-384', ec('P-384'), 'it is a key of type ec'],
  ['curve secp256k1', ec('secp256k1'), 'it is a key of type ec'],
  ['Ed25519', generateKeyPairSync('ed25519').privateKey, 'it is a key of type ed25519'],
  [
    'RSA-PSS',
    generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey,
    'it is a key of type rsa-pss',
  ],
])('%s is no key for tokens, to sign or to verify', (_what, key, message) => {
  for (const read of [readSigningKey, readVerificationKey]) {
    expect(() => read(pemOf(key), '/k.pem')).toThrow(`/k.pem: no key for tokens: ${message}`)
  }
})

test('a text that is no key is refused without being shown', () => {
  const broken = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----'
  for (const read of [readSigningKey, readVerificationKey]) {
    for (const text of [broken, 'c2VjcmV0', '']) {
      expect(() => read(text, '/k.pem')).toThrow(
        /^\/k\.pem: no key for tokens: it cannot be read \(\w+\)$/u,
      )
    }
  }
})

test.each(['ES256', 'RS256'] as const)('%s: the published key has no private part', async (alg) => {
  const key = newSigningKey(alg)
  const jwk = await toJwk(key)
  expect(jwk).toMatchObject({ use: 'sig', kid: key.id, alg })
  expect(Object.keys(jwk).toSorted()).toEqual(
    alg === 'ES256'
      ? ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']
      : ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  )
})
