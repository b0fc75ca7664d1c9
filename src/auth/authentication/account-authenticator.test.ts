import { beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { newSigningKey } from '../testing/forge.ts'
import type { BoundObject } from '../tokens/account-claims.ts'
import { sign, TokenIssuer } from '../tokens/token-issuer.ts'
import { AccountAuthenticator, type LiveObject } from './account-authenticator.ts'

const ISSUER = 'https://orch.default.svc'
const ACCOUNT = { namespace: 'shop', account: { name: 'builder', uid: 'u1' } }
const POD: BoundObject = { kind: 'pod', name: 'web', uid: 'p1' }

const key = newSigningKey()
let clock: FakeClock
let objects: Map<string, LiveObject>
let secrets: Map<string, string>
let keys: (typeof key)[]

beforeEach(() => {
  clock = new FakeClock()
  objects = new Map([['shop/builder', { uid: 'u1', deletedAt: undefined }]])
  secrets = new Map()
  keys = [key]
})

function authenticator(): AccountAuthenticator {
  return new AccountAuthenticator({
    issuers: [ISSUER],
    keys: () => keys,
    audiences: [ISSUER],
    clock,
    objects: {
      account: (namespace, name) => objects.get(`${namespace}/${name}`),
      bound: (namespace, { kind, name }) => objects.get(`${kind} ${namespace}/${name}`),
      tokenInSecret: (namespace, name) => secrets.get(`${namespace}/${name}`),
    },
  })
}

async function issue(bound?: BoundObject, audiences = [ISSUER]): Promise<string> {
  const issuer = new TokenIssuer({ issuer: ISSUER, key, clock, newId: () => 't1' })
  const claims = { ...ACCOUNT, ...(bound && { bound }) }
  return (await issuer.issue({ claims, audiences, lifetimeSeconds: 600 })).token
}

test('a token says who sends the request, and which Pod', async () => {
  objects.set('pod shop/web', { uid: 'p1', deletedAt: undefined })
  const found = await authenticator().authenticate({ bearerToken: await issue(POD) })
  expect(found).toMatchObject({
    user: {
      name: 'system:serviceaccount:shop:builder',
      uid: 'u1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
    },
  })
  expect(found && 'user' in found && Object.fromEntries(found.user.extra ?? [])).toEqual({
    'authentication.kubernetes.io/credential-id': ['JTI=t1'],
    'authentication.kubernetes.io/pod-name': ['web'],
    'authentication.kubernetes.io/pod-uid': ['p1'],
  })
})

test('no token, and a token of another issuer, are for another authenticator', async () => {
  const chain = authenticator()
  expect(await chain.authenticate({})).toBe(undefined)
  expect(await chain.authenticate({ bearerToken: 'abc' })).toBe(undefined)
  const foreign = await sign({ iss: 'https://login.example' }, key)
  expect(await chain.authenticate({ bearerToken: foreign })).toBe(undefined)
})

test.each<[string, () => void]>([
  ['its account is gone', () => objects.delete('shop/builder')],
  [
    'its account was made again',
    () => objects.set('shop/builder', { uid: 'u2', deletedAt: undefined }),
  ],
  ['its Pod is gone', () => objects.delete('pod shop/web')],
  [
    'its Pod was made again',
    () => objects.set('pod shop/web', { uid: 'p2', deletedAt: undefined }),
  ],
  ['its key was removed', () => (keys = [newSigningKey()])],
])('a token that was accepted is refused at once when %s', async (_what, change) => {
  objects.set('pod shop/web', { uid: 'p1', deletedAt: undefined })
  const accounts = authenticator()
  const credentials = { bearerToken: await issue(POD) }
  expect(await accounts.authenticate(credentials)).toHaveProperty('user')
  change()
  expect(await accounts.authenticate(credentials)).toHaveProperty('rejected')
  expect(await accounts.authenticate({ ...credentials })).toHaveProperty('rejected')
})

test('a token expires also on a connection that sends it again and again', async () => {
  const accounts = authenticator()
  const credentials = { bearerToken: await issue() }
  expect(await accounts.authenticate(credentials)).toHaveProperty('user')
  await clock.advance(599_000)
  expect(await accounts.authenticate(credentials)).toHaveProperty('user')
  await clock.advance(1_000)
  expect(await accounts.authenticate(credentials)).toHaveProperty('rejected')
})

test.each(['pod', 'secret', 'node'] as const)(
  'a token that is bound to a %s ends with it',
  async (kind) => {
    const bound: BoundObject = { kind, name: 'x', uid: 'x1' }
    const accounts = authenticator()
    const bearerToken = await issue(bound)
    expect(await accounts.authenticate({ bearerToken })).toHaveProperty('rejected')
    objects.set(`${kind} shop/x`, { uid: 'x1', deletedAt: undefined })
    expect(await accounts.authenticate({ bearerToken })).toHaveProperty('user')
    objects.set(`${kind} shop/x`, { uid: 'x2', deletedAt: undefined })
    expect(await accounts.authenticate({ bearerToken })).toHaveProperty('rejected')
  },
)

test('an expired token is refused at once, one of a Pod that is ending a minute later', async () => {
  objects.set('pod shop/web', { uid: 'p1', deletedAt: clock.now() })
  const accounts = authenticator()
  const tokens = { pod: await issue(POD), account: await issue() }
  const accepted = async (bearerToken: string) => {
    return 'user' in ((await accounts.authenticate({ bearerToken })) ?? {})
  }
  expect([await accepted(tokens.pod), await accepted(tokens.account)]).toEqual([true, true])
  await clock.advance(60_000)
  expect([await accepted(tokens.pod), await accepted(tokens.account)]).toEqual([false, true])
  await clock.advance(539_000)
  expect(await accepted(tokens.account)).toBe(true)
  await clock.advance(1000)
  expect(await accepted(tokens.account)).toBe(false)
})

test('each of many tokens stays that of its own account', async () => {
  const accounts = authenticator()
  const issuer = new TokenIssuer({ issuer: ISSUER, key, clock, newId: () => 't1' })
  const tokens = new Map<string, string>()
  for (let index = 0; index < 70; index++) {
    const name = `account-${index}`
    objects.set(`shop/${name}`, { uid: name, deletedAt: undefined })
    const claims = { namespace: 'shop', account: { name, uid: name } }
    const { token } = await issuer.issue({ claims, audiences: [ISSUER], lifetimeSeconds: 600 })
    tokens.set(name, token)
  }
  for (const round of [1, 2]) {
    for (const [name, bearerToken] of tokens) {
      const found = await accounts.authenticate({ bearerToken })
      expect([round, found]).toMatchObject([round, { user: { uid: name } }])
    }
  }
})

test('a token for another audience is refused, and reviewed with its own', async () => {
  const accounts = authenticator()
  const token = await issue(undefined, ['vault', 'bank'])
  expect(await accounts.authenticate({ bearerToken: token })).toHaveProperty('rejected')
  expect(await accounts.review(token, ['bank', 'x'])).toMatchObject({ audiences: ['bank'] })
  expect(await accounts.authenticate({ bearerToken: token })).toHaveProperty('rejected')
})

test('a token in a Secret is accepted while the Secret holds exactly this token', async () => {
  const claim = (name: string, value: string) => ({
    [`kubernetes.io/serviceaccount/${name}`]: value,
  })
  const token = await sign(
    {
      iss: 'kubernetes/serviceaccount',
      sub: 'system:serviceaccount:shop:builder',
      ...claim('namespace', 'shop'),
      ...claim('secret.name', 'key'),
      ...claim('service-account.name', 'builder'),
      ...claim('service-account.uid', 'u1'),
    },
    key,
  )
  const accounts = authenticator()
  expect(await accounts.authenticate({ bearerToken: token })).toHaveProperty('rejected')
  secrets.set('shop/key', token)
  expect(await accounts.authenticate({ bearerToken: token })).toMatchObject({
    user: { name: 'system:serviceaccount:shop:builder' },
  })
  expect(await accounts.review(token, ['vault', ISSUER])).toMatchObject({ audiences: [ISSUER] })
  expect(await accounts.review(token, ['vault'])).toHaveProperty('rejected')
  secrets.set('shop/key', `${token} `)
  expect(await accounts.authenticate({ bearerToken: token })).toHaveProperty('rejected')
})

test.each<[string, object]>([
  ['no account', { 'kubernetes.io': { namespace: 'shop' } }],
  ['no namespace', { 'kubernetes.io': { serviceaccount: { name: 'builder', uid: 'u1' } } }],
  ['another subject', { sub: 'system:serviceaccount:shop:admin' }],
  ['a subject that is no account', { sub: 'system:admin' }],
  ['no end', { exp: undefined }],
  ['no audience', { aud: undefined }],
])('a signed token with %s is refused', async (_what, change) => {
  const now = clock.now() / 1000
  const honest = {
    iss: ISSUER,
    aud: [ISSUER],
    exp: now + 600,
    sub: 'system:serviceaccount:shop:builder',
    'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'builder', uid: 'u1' } },
  }
  const accounts = authenticator()
  expect(await accounts.authenticate({ bearerToken: await sign(honest, key) })).toHaveProperty(
    'user',
  )
  const bearerToken = await sign(JSON.parse(JSON.stringify({ ...honest, ...change })), key)
  expect(await accounts.authenticate({ bearerToken })).toHaveProperty('rejected')
})

test('the reason of a rejection has no part of the token: what clients send must not fill the log', async () => {
  const claims = { iss: ISSUER, sub: 'x' }
  const reasons = await Promise.all(
    ['one', 'two'].map(async (id) => {
      const bearerToken = await sign(claims, { ...newSigningKey(), id })
      return authenticator().authenticate({ bearerToken })
    }),
  )
  expect(reasons[0]).toHaveProperty('rejected')
  expect(reasons[0]).toEqual(reasons[1])
})

test('a token of a server with another key is rejected with the remedy', async () => {
  const bearerToken = await issue()
  const other = newSigningKey()
  keys = [other]
  expect(await authenticator().authenticate({ bearerToken })).toEqual({
    rejected:
      'its key is not known to this server; servers of one etcd need the same serviceAccounts.signingKeyFile',
  })
  keys = [{ ...other, id: key.id }]
  expect(await authenticator().authenticate({ bearerToken })).toEqual({
    rejected: 'no key verifies its signature',
  })
})
