import { expect, test } from 'vitest'
import { certificates } from '../testing/test-certificates.ts'
import { certificateExpiry, tokenExpiry } from './credential-expiry.ts'

function token(claims: unknown): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.signature`
}

test('a JSON Web Token expires when its claim says', () => {
  expect(tokenExpiry(token({ exp: 1_900_000_000 }))).toBe(1_900_000_000_000)
})

test.each([
  ['opaque', 'a-static-token'],
  ['of two parts', 'e30.e30'],
  ['no JSON', 'a.%%%.c'],
  ['without the claim', token({ sub: 'x' })],
  ['with a claim that is no time', token({ exp: 'soon' })],
  ['whose payload is no object', token(7)],
])('a token that is %s names no end', (_, text) => {
  expect(tokenExpiry(text)).toBeUndefined()
})

test('a certificate ends when it says', () => {
  expect(certificateExpiry(certificates.client.cert)).toBeGreaterThan(Date.UTC(2026, 0, 1))
  expect(certificateExpiry('no certificate')).toBeUndefined()
})
