import { decodeJwt, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { newSigningKey } from '../testing/forge.ts'
import { TokenIssuer } from './token-issuer.ts'

test('a token says for how long, for what and by which key it is good, and nothing else', async () => {
  const clock = new FakeClock()
  const key = newSigningKey()
  const issuer = new TokenIssuer({ issuer: 'https://orch', key, clock, newId: () => 't1' })
  const claims = { namespace: 'shop', account: { name: 'builder', uid: 'u1' } }
  const now = Math.floor(clock.now() / 1000)
  const issued = await issuer.issue({ claims, audiences: ['a', 'b'], lifetimeSeconds: 600 })
  expect(decodeProtectedHeader(issued.token)).toEqual({ alg: 'ES256', kid: key.id })
  expect(decodeJwt(issued.token)).toEqual({
    iss: 'https://orch',
    aud: ['a', 'b'],
    jti: 't1',
    iat: now,
    nbf: now,
    exp: now + 600,
    sub: 'system:serviceaccount:shop:builder',
    'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'builder', uid: 'u1' } },
  })
  expect([issued.id, issued.expiresAt.getTime()]).toEqual(['t1', (now + 600) * 1000])
})
