import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { ClusterEvidence } from './evidence/cluster-evidence.ts'
import { judgeToken, type TokenEvidence } from './judge-token.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const seconds = NOW / 1_000
const robot = { metadata: { namespace: 'shop', name: 'robot', uid: 'u1' } }
const cluster = new ClusterEvidence(
  { serviceaccounts: [robot], pods: [], secrets: [] },
  { server: { issuer: 'https://a', audiences: ['https://a'] } },
)

function claims(more: JsonObject = {}, bound: JsonObject = {}): JsonObject {
  return {
    iss: 'https://a',
    aud: ['https://a'],
    exp: seconds + 60,
    iat: seconds - 60,
    'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'robot', uid: 'u1' }, ...bound },
    ...more,
  }
}

function judge(payload: JsonObject, more: Partial<TokenEvidence> = {}) {
  const base = { isAccepted: undefined, isAcceptedForItsAudience: undefined }
  return judgeToken({ payload, now: NOW, ...base, ...more }, cluster)
}

const ofSecret = (uid: string): JsonObject => ({
  iss: 'kubernetes/serviceaccount',
  'kubernetes.io/serviceaccount/namespace': 'shop',
  'kubernetes.io/serviceaccount/service-account.name': 'robot',
  'kubernetes.io/serviceaccount/service-account.uid': uid,
  'kubernetes.io/serviceaccount/secret.name': 'gone',
})

test.each<[string, JsonObject, string]>([
  ['is over', claims({ exp: seconds - 1 }), 'token-expired'],
  ['begins later', claims({ nbf: seconds + 120 }), 'token-not-yet-valid'],
  ['was issued later', claims({ iat: seconds + 120 }), 'token-not-yet-valid'],
  ['is of another issuer', claims({ iss: 'https://b' }), 'token-issuer'],
  ['is for others', claims({ aud: 'vault' }), 'token-audience'],
  ['is of a Pod that is gone', claims({}, { pod: { name: 'p', uid: 'u' } }), 'token-bound-object'],
  ['is of a Secret that is gone', ofSecret('u1'), 'token-bound-object'],
  ['is of a deleted account', ofSecret('u0'), 'token-account'],
])('a token that %s', (_, payload, check) => {
  expect(judge(payload)?.check).toBe(check)
  expect(judge(payload)?.object).toBe('serviceaccount/shop/robot')
})

test('whether the server itself rejects a token of another issuer or for others is said', () => {
  const texts = (payload: JsonObject, isAccepted: boolean | undefined) => {
    const found = judge(payload, { isAccepted })
    return [found?.cause, ...(found?.evidence ?? [])].join('; ')
  }
  const foreign = claims({ iss: 'https://b' })
  expect(texts(foreign, undefined)).toMatch(/as far as is known.*was not queried.*further issuers/)
  expect(texts(foreign, false)).toMatch(/not by this API server; .*; the API server rejects it$/)
  const others = claims({ aud: 'vault' })
  expect(texts(others, undefined)).toMatch(/as far as is known.*was not queried.*--api-audiences/)
  expect(texts(others, false)).toMatch(/the API server rejects the token$/)
})

test('what the server says decides', () => {
  expect(judge(claims())).toBeUndefined()
  expect(judge(claims({ aud: 'vault' }), { isAccepted: true })).toBeUndefined()
  expect(judge(claims(), { isAccepted: false })?.check).toBe('token-rejected')
  const proven = { isAccepted: false, isAcceptedForItsAudience: true }
  expect(judge(claims(), proven)?.check).toBe('token-audience')
})

test('times that no date has are no times', () => {
  expect(judge(claims({ exp: 1e300, nbf: -1e300 }))).toBeUndefined()
})
