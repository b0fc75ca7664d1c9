import { describe, expect, test } from 'vitest'
import { verifyToken } from '../authentication/account-authenticator.ts'
import { forge, newSigningKey, signers } from '../testing/forge.ts'
import { forgeries } from '../testing/forgeries.ts'
import { accountPayload } from './account-claims.ts'

const ISSUER = 'https://orch.default.svc'
const AUDIENCE = 'https://orch.default.svc'
const NOW = Date.parse('2026-01-01T12:00:00Z')
const SECONDS = NOW / 1000

const ec = newSigningKey('ES256')
const rsa = newSigningKey('RS256')
const CLAIMS = {
  iss: ISSUER,
  aud: [AUDIENCE],
  iat: SECONDS - 10,
  nbf: SECONDS - 10,
  exp: SECONDS + 600,
  jti: 'a',
  ...accountPayload({ namespace: 'shop', account: { name: 'builder', uid: 'u1' } }),
}
const ES = { alg: 'ES256', kid: ec.id }
const RS = { alg: 'RS256', kid: rsa.id }
const byEc = signers.ecdsa(ec.privateKey)
const byRsa = signers.rsa(rsa.privateKey)
const good = forge(ES, CLAIMS, byEc)

function verify(token: string) {
  const keys = [ec, rsa]
  return verifyToken(token, { issuer: ISSUER, keys, audiences: [AUDIENCE], now: NOW })
}

test.each([
  ['ES256', good],
  ['RS256', forge(RS, CLAIMS, byRsa)],
  ['no kid', forge({ alg: 'ES256' }, CLAIMS, byEc)],
  ['one audience as text', forge(ES, { ...CLAIMS, aud: AUDIENCE }, byEc)],
  ['a clock that is a little ahead', forge(ES, { ...CLAIMS, nbf: SECONDS + 30 }, byEc)],
])('an honest token is accepted: %s', async (_what, token) => {
  expect(await verify(token)).toMatchObject({ audiences: [AUDIENCE], expires: SECONDS + 600 })
})

const FORGED = forgeries({
  issuer: ISSUER,
  audience: AUDIENCE,
  ec,
  rsa,
  claims: CLAIMS,
  seconds: SECONDS,
})

describe.each(Object.entries(FORGED))('forged by its %s', (_kind, tokens) => {
  test.each(Object.entries(tokens))('%s', async (_what, token) => {
    expect(await verify(token)).toEqual({ rejected: expect.stringMatching(/./) })
  })
})

test('there are at least sixty forgeries, no two alike', () => {
  const all = Object.values(FORGED).flatMap((tokens) => Object.values(tokens))
  expect(new Set(all).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(60)
})
