import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import type { CacheReader } from '../cache/feed.ts'
import { storedAccounts } from './token-objects.ts'

const DELETED = '2026-01-01T00:00:00Z'
const META = { uid: 'u1', deletionTimestamp: DELETED }
const TOKEN = { token: Buffer.from('the token').toString('base64') }

/** The objects of caches that hold these, by their storage keys. */
function cached(objects: Readonly<Record<string, JsonObject>>) {
  const cache = {
    get: (key: string) =>
      Object.hasOwn(objects, key)
        ? { value: Buffer.from(JSON.stringify(objects[key])) }
        : undefined,
  }
  return storedAccounts({ feed: { cache: () => cache } } as unknown as CacheReader)
}

test('an account, and what a token is bound to, are known by uid and by the time of their deletion', () => {
  const accounts = cached({
    '/serviceaccounts/shop/builder': { metadata: { uid: 'u1' } },
    '/pods/shop/web': { metadata: META },
    '/secrets/shop/web': { metadata: { uid: 'u2' } },
    '/nodes/web': { metadata: { uid: 'u3' } },
  })
  expect(accounts.account('shop', 'builder')).toEqual({ uid: 'u1', deletedAt: undefined })
  expect(accounts.account('bank', 'builder')).toBe(undefined)
  const bound = (kind: 'pod' | 'secret' | 'node') =>
    accounts.bound('shop', { kind, name: 'web', uid: '' })
  expect(bound('pod')).toEqual({ uid: 'u1', deletedAt: Date.parse(DELETED) })
  expect([bound('secret')?.uid, bound('node')?.uid]).toEqual(['u2', 'u3'])
})

test.each(['kubernetes.io/service-account-token', 'orch.io/service-account-token'])(
  'a Secret of the type %s has a token',
  (type) => {
    const accounts = cached({ '/secrets/shop/key': { metadata: { uid: 's' }, type, data: TOKEN } })
    expect(accounts.tokenInSecret('shop', 'key')).toBe('the token')
  },
)

const TYPE = 'kubernetes.io/service-account-token'

test.each<[string, JsonObject]>([
  ['another type', { metadata: { uid: 's' }, type: 'Opaque', data: TOKEN }],
  ['no type', { metadata: { uid: 's' }, data: TOKEN }],
  ['an end that has begun', { metadata: META, type: TYPE, data: TOKEN }],
  ['no token', { metadata: { uid: 's' }, type: TYPE, data: {} }],
  ['an empty token', { metadata: { uid: 's' }, type: TYPE, data: { token: '' } }],
])('a Secret with %s makes no token good', (_what, secret) => {
  expect(cached({ '/secrets/shop/key': secret }).tokenInSecret('shop', 'key')).toBe(undefined)
})
