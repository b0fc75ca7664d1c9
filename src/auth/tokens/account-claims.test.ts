import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import {
  accountPayload,
  readAccountClaims,
  readSecretClaims,
  secretPayload,
} from './account-claims.ts'

const CLAIMS = { namespace: 'shop', account: { name: 'builder', uid: 'u1' } }
const SECRET = { ...CLAIMS, secretName: 'key' }
const BOUND = { name: 'web', uid: 'p1' }
const SUB = 'system:serviceaccount:shop:builder'

/** The payload of a token with other private claims. */
function withPrivate(changed: JsonObject, more: JsonObject = {}): JsonObject {
  const serviceaccount = { name: 'builder', uid: 'u1' }
  return { sub: SUB, 'kubernetes.io': { namespace: 'shop', serviceaccount, ...changed }, ...more }
}

test.each([undefined, 'pod', 'secret', 'node'] as const)(
  'what is written is read, bound to %s',
  (kind) => {
    const claims = { ...CLAIMS, ...(kind && { bound: { kind, ...BOUND } }) }
    expect(readAccountClaims(accountPayload(claims))).toEqual(claims)
  },
)

test('a token of a Pod that names its Node, too, is bound to the Pod', () => {
  const both = withPrivate({ node: { name: 'n1', uid: 'n' }, pod: BOUND })
  expect(readAccountClaims(both)?.bound).toEqual({ kind: 'pod', ...BOUND })
})

test.each<[string, JsonObject]>([
  ['no private claims', { sub: SUB }],
  ['private claims that are a text', { sub: SUB, 'kubernetes.io': 'shop' }],
  ['no subject', withPrivate({}, { sub: null })],
  ['a subject of another namespace', withPrivate({ namespace: 'bank' })],
  ['a subject of another account', withPrivate({ serviceaccount: { name: 'admin', uid: 'u1' } })],
  ['a subject that is no account', withPrivate({}, { sub: 'system:admin' })],
  ['an empty namespace', withPrivate({ namespace: '' }, { sub: 'system:serviceaccount::builder' })],
  ['an account without uid', withPrivate({ serviceaccount: { name: 'builder' } })],
  ['an account with an empty uid', withPrivate({ serviceaccount: { name: 'builder', uid: '' } })],
  ['an account without a name', withPrivate({ serviceaccount: { uid: 'u1' } })],
  ['a Pod without uid', withPrivate({ pod: { name: 'web' } })],
  ['a Pod without a name', withPrivate({ pod: { uid: 'p1' } })],
  ['a Pod that is null', withPrivate({ pod: null })],
  ['a Secret that is a text', withPrivate({ secret: 'key' })],
])('a payload with %s is that of no account', (_what, payload) => {
  expect(readAccountClaims(payload)).toBe(undefined)
})

test('what is written into a Secret is read', () => {
  expect(readSecretClaims(secretPayload(SECRET))).toEqual(SECRET)
})

test.each<[string, JsonObject]>([
  ['another subject', { sub: 'system:serviceaccount:shop:admin' }],
  ['no subject', { sub: null }],
  ['another namespace', { 'kubernetes.io/serviceaccount/namespace': 'bank' }],
  ['no Secret', { 'kubernetes.io/serviceaccount/secret.name': '' }],
  ['no uid', { 'kubernetes.io/serviceaccount/service-account.uid': '' }],
  [
    'no name',
    {
      'kubernetes.io/serviceaccount/service-account.name': '',
      sub: 'system:serviceaccount:shop:',
    },
  ],
])('the payload of a token in a Secret with %s is that of no account', (_what, changed) => {
  expect(readSecretClaims({ ...secretPayload(SECRET), ...changed })).toBe(undefined)
})
