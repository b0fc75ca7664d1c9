import { expect, test } from 'vitest'
import { certificates } from '../../testing/test-certificates.ts'
import { certificateValidity, lateFrom, tokenValidity } from './validity.ts'

function token(claims: unknown): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.signature`
}

test('a JSON Web Token is valid from its claim iat to its claim exp', () => {
  expect(tokenValidity(token({ exp: 1_900_000_000 }))).toEqual({ to: 1_900_000_000_000 })
  expect(tokenValidity(token({ iat: 1_800_000_000, exp: 1_900_000_000 }))).toEqual({
    from: 1_800_000_000_000,
    to: 1_900_000_000_000,
  })
})

const DAY = 86_400_000

test.each([
  ['a certificate', 'certificate', { from: 0, to: 100 * DAY }, 80 * DAY],
  ['a token', 'token', { from: 0, to: 10 * DAY }, 8 * DAY],
  ['a token that says no beginning', 'token', { to: 100 * DAY }, 94 * DAY],
  ['a token file, which others renew in time', 'token-file', { from: 0, to: 10 * DAY }, 9 * DAY],
  ['a plugin, which is run again before the end', 'exec', { from: 0, to: 10 * DAY }, 10 * DAY],
] as const)('%s should have been renewed by then', (_, kind, validity, late) => {
  expect(lateFrom(kind, validity)).toBe(late)
})

test.each([
  ['opaque', 'a-static-token'],
  ['of two parts', 'e30.e30'],
  ['no JSON', 'a.%%%.c'],
  ['without the claim', token({ sub: 'x' })],
  ['with a claim that is no time', token({ exp: 'soon' })],
  ['whose payload is no object', token(7)],
])('a token that is %s names no end', (_, text) => {
  expect(tokenValidity(text)).toBeUndefined()
})

test('a certificate is valid from its notBefore to its notAfter', () => {
  const { from = 0, to = 0 } = certificateValidity(certificates.client.cert) ?? {}
  expect(to).toBeGreaterThan(Date.UTC(2026, 0, 1))
  expect(from).toBeLessThan(to)
  expect(certificateValidity('no certificate')).toBeUndefined()
})
