import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { newSigningKey } from '../testing/forge.ts'
import { toJwk } from '../tokens/signing-key.ts'
import { OidcAuthenticator, type OidcOptions } from './oidc-authenticator.ts'
import { discoverKeys } from './oidc-discovery.ts'

const ISSUER = 'https://login.example'
const key = newSigningKey()
const clock = new FakeClock()
const now = clock.now() / 1000
const CLAIMS = { iss: ISSUER, aud: 'orch', sub: 'u-7', iat: now, exp: now + 600 }

/** A local provider; returns an authenticator that trusts it, and what was requested of it. */
async function provider(options: Partial<OidcOptions> = {}, metadata: object = {}, code = 200) {
  const documents: Record<string, object> = {
    '/.well-known/openid-configuration': {
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/keys`,
      ...metadata,
    },
    '/keys': { keys: [await toJwk(key)] },
  }
  const requests: string[] = []
  const server = createServer(({ url = '' }, response) => {
    requests.push(url)
    response
      .writeHead(code, { 'content-type': 'application/json' })
      .end(JSON.stringify(documents[url]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const local = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const keys = discoverKeys(
    ISSUER,
    (url) => fetch(url.replace(/^https?:\/\/login\.example/u, local)),
    clock,
  )
  const common = { issuer: ISSUER, clientId: 'orch', clock, keys }
  const authenticator = new OidcAuthenticator({ ...common, ...options })
  return { authenticator, requests, close: () => server.close() }
}

function token(claims: object, by = key): Promise<string> {
  const header = { alg: by.algorithm, kid: by.id }
  return new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader(header).sign(by.privateKey)
}

test('a token of the provider is a user, under a name that no other provider gives', async () => {
  const { authenticator, requests } = await provider({
    groupsClaim: 'groups',
    groupsPrefix: 'oidc:',
  })
  for (const groups of [['dev', 'ops'], 'dev', undefined]) {
    const bearerToken = await token({ groups })
    expect(await authenticator.authenticate({ bearerToken })).toEqual({
      user: {
        name: 'https://login.example#u-7',
        groups: [...[groups ?? []].flat().map((group) => `oidc:${group}`), 'system:authenticated'],
      },
    })
  }
  expect(requests).toEqual(['/.well-known/openid-configuration', '/keys'])
})

test('a verified email address is a name by itself', async () => {
  const { authenticator } = await provider({ userClaim: 'email' })
  const bearerToken = await token({ email: 'ann@example.com', email_verified: true })
  expect(await authenticator.authenticate({ bearerToken })).toMatchObject({
    user: { name: 'ann@example.com' },
  })
})

test('an address that is not verified is no matter where it is not the name', async () => {
  const { authenticator } = await provider()
  const bearerToken = await token({ email: 'a@b.c', email_verified: false })
  expect(await authenticator.authenticate({ bearerToken })).toHaveProperty('user')
})

test.each<[string, object, Partial<OidcOptions>]>([
  ['an audience of another client', { aud: 'other' }, {}],
  ['an end in the past', { exp: now - 60 }, {}],
  ['no end', { exp: undefined }, {}],
  ['a beginning in the future', { nbf: now + 60 }, {}],
  ['no time of issue', { iat: undefined }, {}],
  ['no name', { sub: undefined }, {}],
  ['an empty name', { sub: '' }, { userPrefix: 'oidc:' }],
  ['a name that is no text', { sub: { a: 1 } }, {}],
  [
    'an address that is not verified',
    { email: 'a@b.c', email_verified: false },
    { userClaim: 'email' },
  ],
  ...['false', 'true', 0, null, {}].map((claim): [string, object, Partial<OidcOptions>] => [
    `an address of which ${JSON.stringify(claim)} says whether it is verified`,
    { email: 'a@b.c', email_verified: claim },
    { userClaim: 'email' },
  ]),
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

test('a secret that is shared verifies nothing, even if the provider had one', async () => {
  const secret = Buffer.alloc(32, 'k')
  const { authenticator } = await provider({ keys: () => Promise.resolve(secret) })
  const bearerToken = await new SignJWT(CLAIMS).setProtectedHeader({ alg: 'HS256' }).sign(secret)
  expect(await authenticator.authenticate({ bearerToken })).toHaveProperty('rejected')
})

test('a provider that is away costs a rejection, nothing else', async () => {
  const { authenticator, close } = await provider()
  close()
  expect(await authenticator.authenticate({ bearerToken: await token({}) })).toEqual({
    rejected: 'its keys are not available',
  })
})

test.each<[string, object]>([
  ['another issuer', { issuer: 'https://evil.example' }],
  ['keys that are not read over https', { jwks_uri: 'http://login.example/keys' }],
  ['no keys', { jwks_uri: undefined }],
])('metadata with %s costs a rejection', async (_, metadata) => {
  const { authenticator, requests } = await provider({}, metadata)
  expect(await authenticator.authenticate({ bearerToken: await token({}) })).toEqual({
    rejected: 'its keys are not available',
  })
  expect(requests).toEqual(['/.well-known/openid-configuration'])
})

test('metadata that comes with an error is not used', async () => {
  const { authenticator, requests } = await provider({}, {}, 500)
  expect(await authenticator.authenticate({ bearerToken: await token({}) })).toEqual({
    rejected: 'its keys are not available',
  })
  expect(requests).toEqual(['/.well-known/openid-configuration'])
})

test.each([ISSUER, `${ISSUER}/`, `${ISSUER}/realm/`])(
  'the metadata of %s is below it',
  async (issuer) => {
    const urls: string[] = []
    const keys = discoverKeys(
      issuer,
      (url) => {
        urls.push(url)
        return Promise.reject(new Error('away'))
      },
      clock,
    )
    await expect(keys({ alg: 'ES256' }, { payload: '', signature: '' })).rejects.toThrow('away')
    expect(urls).toEqual([`${issuer.replace(/\/$/u, '')}/.well-known/openid-configuration`])
  },
)

test('a provider that was away is queried again after a pause, not for each token', async () => {
  let fetches = 0
  const away = discoverKeys(
    ISSUER,
    () => {
      fetches++
      return Promise.reject(new Error('away'))
    },
    clock,
  )
  const { authenticator } = await provider({ keys: away })
  const bearerToken = await token({ exp: now + 6000 })
  for (const _ of [1, 2, 3]) await authenticator.authenticate({ bearerToken })
  expect(fetches).toBe(1)
  await clock.advance(10_000)
  for (const _ of [1, 2, 3]) await authenticator.authenticate({ bearerToken })
  expect(fetches).toBe(2)
})
