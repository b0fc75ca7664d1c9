import { expect, test } from 'vitest'
import { verifyToken } from '../auth/authentication/account-authenticator.ts'
import { newSigningKey } from '../auth/testing/forge.ts'
import { readSecretClaims } from '../auth/tokens/account-claims.ts'
import { sign } from '../auth/tokens/token-issuer.ts'
import { type JsonObject, objectAt, stringAt } from '../lib/json.ts'
import { createServiceAccountTokensController } from './serviceaccounts-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import type { FakeCluster } from './testing/fake-cluster.ts'
import { named } from './testing/fixtures.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const key = newSigningKey()
const controller = createServiceAccountTokensController({
  ca: 'the CA',
  sign: (payload) => sign(payload, key),
})

const SECRET = 'shop/token'
const T0 = Date.parse('2026-01-01T00:00:00Z')
const ENDING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const FILLED = `patch secrets/${SECRET}`
const DELETED = `delete secrets/${SECRET}`
const [TOKEN, UID] = ['service-account-token', 'service-account.uid']

interface SecretParts {
  readonly type?: string
  readonly annotations?: JsonObject
  readonly metadata?: JsonObject
  readonly data?: JsonObject
  readonly rest?: JsonObject
}

function secret({ type, annotations, metadata, data, rest }: SecretParts = {}): JsonObject {
  const names = annotations ?? { 'kubernetes.io/service-account.name': 'builder' }
  const creationTimestamp = '2026-01-01T00:00:00Z'
  return {
    ...named('token', { creationTimestamp, annotations: names, ...metadata }),
    type: type ?? 'kubernetes.io/service-account-token',
    ...(data === undefined ? {} : { data }),
    ...rest,
  }
}

/** Of a Secret that was filled for the account with this uid. */
function filledFor(uid: string): JsonObject {
  return { 'kubernetes.io/service-account.name': 'builder', [`kubernetes.io/${UID}`]: uid }
}

function cluster(given: JsonObject, ...accounts: readonly JsonObject[]): FakeCluster {
  return clusterWith(
    ['secrets', given],
    ...accounts.map((one) => ['serviceaccounts', one] as const),
  )
}

function look(at: FakeCluster, now = T0): Promise<readonly string[]> {
  return reconcile(at, { controller, key: SECRET, now })
}

function text(at: FakeCluster, name: string): string {
  return Buffer.from(stringAt(at.get('secrets', SECRET), 'data', name), 'base64').toString()
}

async function verified(token: string) {
  const issuer = 'kubernetes/serviceaccount'
  return verifyToken(token, { issuer, keys: [key], audiences: ['any'], now: T0 })
}

test('a Secret of an account that is not the one it was filled for is deleted, not filled', async () => {
  const at = cluster(secret({ annotations: filledFor('old') }), named('builder'))
  expect(await look(at)).toEqual([DELETED])
})

test('a Secret of an account in another namespace is not filled', async () => {
  const at = cluster(secret(), named('builder', { namespace: 'other' }))
  expect(await look(at, T0 + 5000)).toEqual([DELETED])
})

test.each<[string, JsonObject, JsonObject]>([
  ['is being deleted', secret({ metadata: ENDING }), named('builder')],
  ['is of another type', secret({ type: 'Opaque' }), named('builder')],
  ['cannot be changed', secret({ rest: { immutable: true } }), named('builder')],
  ['has an account that is being deleted', secret(), named('builder', ENDING)],
])('a Secret that %s gets no token', async (_, given, account) => {
  expect(await look(cluster(given, account))).toEqual([])
})

test('a filled Secret is deleted with its account, a new one waits for its account for 5 s', async () => {
  expect(await look(cluster(secret({ annotations: filledFor('builder') })))).toEqual([DELETED])
  const at = cluster(secret())
  expect(controller.reconcile(SECRET, at.view, T0 + 4999, 0)).toEqual({ writes: [], againMs: 1 })
  expect(await look(at, T0 + 5000)).toEqual([DELETED])
})

test('a Secret stays while the server has its account, which the caches do not know', async () => {
  const at = cluster(secret({ annotations: filledFor('builder') }))
  at.hold()
  at.put('serviceaccounts', named('builder'))
  await expect(look(at)).rejects.toThrow('still there')
  expect(at.get('secrets', SECRET)).toBeDefined()
})

test.each(['..', '', 'a/b', 'A', 'x?y'])(
  'no request names an account %j, which cannot exist',
  (name) => {
    const annotations = { 'kubernetes.io/service-account.name': name }
    const { writes } = controller.reconcile(
      SECRET,
      cluster(secret({ annotations })).view,
      T0 + 5000,
      0,
    )
    expect(writes).toMatchObject([{ verb: 'delete', absent: [] }])
  },
)

test.each(['kubernetes.io', 'orch.io'])('a Secret of %s is filled, once', async (brand) => {
  const annotations = { [`${brand}/service-account.name`]: 'builder' }
  const at = cluster(secret({ type: `${brand}/${TOKEN}`, annotations }), named('builder'))
  expect(await look(at)).toEqual([FILLED])
  const stored = at.get('secrets', SECRET)
  expect(objectAt(stored, 'metadata', 'annotations')).toEqual({
    ...annotations,
    [`${brand}/${UID}`]: 'builder',
  })
  expect(Object.keys(objectAt(stored, 'data')).toSorted()).toEqual(['ca.crt', 'namespace', 'token'])
  expect([text(at, 'ca.crt'), text(at, 'namespace')]).toEqual(['the CA', 'shop'])
  expect(await look(at)).toEqual([])
})

test('the token says whose it is and which Secret holds it, and has no end', async () => {
  const at = cluster(secret(), named('builder'))
  await look(at)
  const found = await verified(text(at, 'token'))
  expect(found).toMatchObject({ keyId: key.id, expires: undefined, audiences: undefined })
  expect('payload' in found && readSecretClaims(found.payload)).toEqual({
    namespace: 'shop',
    account: { name: 'builder', uid: 'builder' },
    secretName: 'token',
  })
})

test.each<[string, JsonObject]>([
  ['token', { token: null }],
  ['certificates', { 'ca.crt': 'bWluZQ==' }],
  ['namespace', { namespace: null }],
])('a Secret whose %s was removed or changed is filled again', async (_, data) => {
  const at = cluster(secret(), named('builder'))
  await look(at)
  const before = at.get('secrets', SECRET)
  at.put('secrets', { ...before, data: { ...objectAt(before, 'data'), ...data } })
  expect(await look(at)).toEqual([FILLED])
  expect([text(at, 'ca.crt'), text(at, 'namespace')]).toEqual(['the CA', 'shop'])
  expect(await verified(text(at, 'token'))).toHaveProperty('payload')
  if (!('token' in data)) expect(at.get('secrets', SECRET)?.['data']).toEqual(before?.['data'])
  expect(await look(at)).toEqual([])
})

test('no cache and no write that waits holds a token', async () => {
  const at = cluster(secret(), named('builder'))
  const { writes } = controller.reconcile(SECRET, at.view, T0, 0)
  await look(at)
  const token = stringAt(at.get('secrets', SECRET), 'data', 'token')
  expect(token).not.toBe('')
  expect(JSON.stringify([writes, at.view.secrets.get(SECRET)])).not.toContain(token.slice(0, 20))
})

test('Secrets follow their account: filled when it is created, deleted with it', async () => {
  const at = cluster(secret())
  const clock = await runControllers(at, [controller])
  expect(at.log).toEqual([])
  at.put('serviceaccounts', named('builder'))
  await clock.advance(0)
  await expect.poll(() => text(at, 'token')).not.toBe('')
  const replacement = named('builder', { uid: 'other' })
  at.put('serviceaccounts', replacement)
  await clock.advance(0)
  await expect.poll(() => at.all('secrets')).toEqual([])
  expect(at.log).toEqual([FILLED, DELETED])
})

test('a signature that fails is tried again, and leaves the Secret as it is until then', async () => {
  let attempts = 0
  const failing = createServiceAccountTokensController({
    ca: 'the CA',
    sign: async (payload) => {
      if (++attempts === 1) throw new Error('no key')
      return sign(payload, key)
    },
  })
  const at = cluster(secret(), named('builder'))
  const clock = await runControllers(at, [failing])
  await expect.poll(() => attempts).toBe(1)
  expect(at.get('secrets', SECRET)).not.toHaveProperty('data')
  await clock.advance(5)
  await expect.poll(() => text(at, 'token')).not.toBe('')
})

test('without a signer nothing is watched or written', async () => {
  const without = createServiceAccountTokensController(undefined)
  expect(without.watches).toEqual({})
  const at = cluster(secret(), named('builder'))
  expect(await reconcile(at, { controller: without, key: SECRET })).toEqual([])
})
