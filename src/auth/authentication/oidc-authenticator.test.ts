import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { newSigningKey } from '../testing/forge.ts'
import { toJwk } from '../tokens/signing-key.ts'
import { OidcAuthenticator, type OidcOptions } from './oidc-authenticator.ts'

const ISSUER = 'https://login.example'
const key = newSigningKey()
const clock = new FakeClock()
const now = clock.now() / 1000
const CLAIMS = { iss: ISSUER, aud: 'orch', sub: 'u-7', iat: now, exp: now + 600 }

/** A local provider; returns an authenticator that trusts it, and how often its keys were read. */
async function provider(options: Partial<OidcOptions> = {}) {
  const keys = { keys: [await toJwk(key)] }
  let reads = 0
  const server = createServer((_, response) => {
    reads++
    response.setHeader('content-type', 'application/json').end(JSON.stringify(keys))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const keysUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`)
  const common = { issuer: ISSUER, clientId: 'orch', clock, keysUrl }
  const authenticator = new OidcAuthenticator({ ...common, ...options })
  return { authenticator, reads: () => reads, close: () => server.close() }
}

function token(claims: object, by = key): Promise<string> {
  const header = { alg: by.algorithm, kid: by.id }
  return new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader(header).sign(by.privateKey)
}

test('a token of the provider is a user, under a name that no other provider gives', async () => {
  const { authenticator, reads } = await provider({ groupsClaim: 'groups', groupsPrefix: 'oidc:' })
  for (const groups of [['dev', 'ops'], 'dev', undefined]) {
    const bearerToken = await token({ groups })
    expect(await authenticator.authenticate({ bearerToken })).toEqual({
      user: {
        name: 'https://login.example#u-7',
        groups: [...[groups ?? []].flat().map((group) => `oidc:${group}`), 'system:authenticated'],
      },
    })
  }
  expect(reads()).toBe(1)
})

test('a verified email address is a name by itself', async () => {
  const { authenticator } = await provider({ userClaim: 'email' })
  const bearerToken = await token({ email: 'ann@example.com', email_verified: true })
  expect(await authenticator.authenticate({ bearerToken })).toMatchObject({
    user: { name: 'ann@example.com' },
  })
})

test.each<[string, object, Partial<OidcOptions>]>([
  ['an audience of another client', { aud: 'other' }, {}],
  ['an end in the past', { exp: now - 60 }, {}],
  ['no end', { exp: undefined }, {}],
  ['a beginning in the future', { nbf: now + 60 }, {}],
  ['no name', { sub: undefined }, {}],
  ['a name that is no text', { sub: { a: 1 } }, {}],
  [
    'an address that is not verified',
    { email: 'a@b.c', email_verified: false },
    { userClaim: 'email' },
  ],
  ['groups that are no texts', { groups: [1] }, { groupsClaim: 'groups' }],
  ['the group of administrators', { groups: ['system:masters'] }, { groupsClaim: 'groups' }],
  ['the name of a component', { sub: 'system:kube-controller-manager' }, { userPrefix: '' }],
])('a token with %s is rejected', async (_what, claims, options) => {
  const { authenticator } = await provider(options)
  expect(await authenticator.authenticate({ bearerToken: await token(claims) })).toEqual({
    rejected: expect.stringMatching(/./),
  })
})

test('a token by another key is rejected, one of another issuer is for another authenticator', async () => {
  const { authenticator } = await provider()
  const forged = await token({}, newSigningKey())
  expect(await authenticator.authenticate({ bearerToken: forged })).toHaveProperty('rejected')
  const foreign = await token({ iss: 'https://other.example' })
  expect(await authenticator.authenticate({ bearerToken: foreign })).toBe(undefined)
  expect(await authenticator.authenticate({ bearerToken: 'abc' })).toBe(undefined)
  expect(await authenticator.authenticate({})).toBe(undefined)
})

test('a provider that is away costs a rejection, nothing else', async () => {
  const { authenticator, close } = await provider()
  close()
  expect(await authenticator.authenticate({ bearerToken: await token({}) })).toEqual({
    rejected: 'its keys are not available',
  })
})
