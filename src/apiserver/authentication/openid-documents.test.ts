import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { newSigningKey } from '../../auth/testing/forge.ts'
import type { VerificationKey } from '../../auth/tokens/signing-key.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'
import { startApi } from '../testing/test-api.ts'

const CONFIGURATION = '/.well-known/openid-configuration'
const KEYS = '/openid/v1/jwks'
const ISSUER = 'https://orch.default.svc'

async function keysOf(api: IdentityApi): Promise<JSONWebKeySet> {
  const { text, headers } = await api.as('root', 'GET', KEYS)
  expect(headers['content-type']).toBe('application/jwk-set+json')
  return JSON.parse(text) as JSONWebKeySet
}

test('others verify a token with what the server publishes, and learn no private part', async () => {
  const api = await startIdentityApi()
  const { body } = await api.as('root', 'GET', CONFIGURATION)
  expect(body).toEqual({
    issuer: ISSUER,
    jwks_uri: `${ISSUER}${KEYS}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  })
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } })
  const token = await api.tokenFor('default', 'builder')
  const published = await keysOf(api)
  const verified = await jwtVerify(token, createLocalJWKSet(published), { issuer: ISSUER })
  expect(verified.payload.sub).toBe('system:serviceaccount:default:builder')
  const members = published.keys.flatMap((key) => Object.keys(key))
  expect(new Set(members)).toEqual(new Set(['use', 'kty', 'crv', 'x', 'y', 'kid', 'alg']))
})

test('the keys are those of the moment', async () => {
  const keys: VerificationKey[] = [newSigningKey()]
  const api = await startIdentityApi([], { identity: { keys: () => keys } })
  expect((await keysOf(api)).keys).toHaveLength(1)
  keys.push(newSigningKey('RS256'))
  expect((await keysOf(api)).keys.map(({ alg }) => alg)).toEqual(['ES256', 'RS256'])
  const { body } = await api.as('root', 'GET', CONFIGURATION)
  expect(body['id_token_signing_alg_values_supported']).toEqual(['ES256', 'RS256'])
  keys.shift()
  expect((await keysOf(api)).keys.map(({ alg }) => alg)).toEqual(['RS256'])
})

test('the documents are for accounts, and for clients without credentials where the operator opens them', async () => {
  const api = await startIdentityApi([
    { name: 'ann' },
    { name: 'pod', groups: ['system:serviceaccounts'] },
  ])
  for (const path of [CONFIGURATION, KEYS]) {
    expect((await api.call('GET', path)).status).toBe(401)
    expect((await api.as('ann', 'GET', path)).status).toBe(403)
    expect((await api.as('pod', 'GET', path)).status).toBe(200)
    expect((await api.as('root', 'POST', path)).status).toBe(405)
  }
  const open = await startIdentityApi([], { identity: { anonymousPaths: [CONFIGURATION, KEYS] } })
  for (const path of [CONFIGURATION, KEYS]) {
    expect((await open.call('GET', path)).status).toBe(200)
  }
})

test('a server that knows no users, or whose issuer is no URL, publishes none', async () => {
  const api = await startApi()
  const named = await startIdentityApi([], { identity: { issuers: ['cluster'] } })
  for (const path of [CONFIGURATION, KEYS]) {
    expect((await api.call('GET', path)).status).toBe(404)
    expect((await named.as('root', 'GET', path)).status).toBe(404)
  }
})
