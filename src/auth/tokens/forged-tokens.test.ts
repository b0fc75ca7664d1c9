import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { forge, newSigningKey, segment, signers } from '../testing/forge.ts'
import { accountPayload } from './account-claims.ts'
import { verifyToken } from './verify-token.ts'

const ISSUER = 'https://orch.default.svc'
const AUDIENCE = 'https://orch.default.svc'
const NOW = Date.parse('2026-01-01T12:00:00Z')
const SECONDS = NOW / 1000

const ec = newSigningKey('ES256')
const rsa = newSigningKey('RS256')
const other = newSigningKey('ES256')
const otherRsa = newSigningKey('RS256')
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
const ed = generateKeyPairSync('ed25519').privateKey

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
const [head = '', body = '', signature = ''] = good.split('.')

const rsaPem = String(rsa.key.export({ type: 'spki', format: 'pem' }))
const rsaDer = rsa.key.export({ type: 'spki', format: 'der' })
const rsaPkcs1 = String(rsa.key.export({ type: 'pkcs1', format: 'pem' }))
const ecPem = String(ec.key.export({ type: 'spki', format: 'pem' }))
const otherJwk = other.key.export({ format: 'jwk' })
const modulus = Buffer.from(String(rsa.key.export({ format: 'jwk' }).n), 'base64url')

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

const withHeader = (header: object) => forge({ ...ES, ...header }, CLAIMS, byEc)
const withClaims = (claims: object) => forge(ES, { ...CLAIMS, ...claims }, byEc)
const byOther = (header: object) => {
  return forge({ ...ES, ...header }, CLAIMS, signers.ecdsa(other.privateKey))
}
const byHmac = (secret: string | Buffer) => {
  return forge({ ...RS, alg: 'HS256' }, CLAIMS, signers.hmac(secret))
}

const FORGED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  algorithm: {
    none: forge({ alg: 'none' }, CLAIMS, signers.none),
    None: forge({ alg: 'None' }, CLAIMS, signers.none),
    nOnE: forge({ alg: 'nOnE' }, CLAIMS, signers.none),
    'none with a kid': forge({ alg: 'none', kid: ec.id }, CLAIMS, signers.none),
    'none over a good signature': `${segment({ alg: 'none', kid: ec.id })}.${body}.${signature}`,
    'no algorithm': forge({ kid: ec.id }, CLAIMS, byEc),
    'an algorithm that is no text': forge({ alg: ['ES256'], kid: ec.id }, CLAIMS, byEc),
    'ES256 in small letters': withHeader({ alg: 'es256' }),
    'HS256 with the RSA key in PEM': byHmac(rsaPem),
    'HS256 with the RSA key in PEM, trimmed': byHmac(rsaPem.trim()),
    'HS256 with the RSA key in DER': byHmac(rsaDer),
    'HS256 with the RSA key in PKCS1': byHmac(rsaPkcs1),
    'HS256 with the modulus': byHmac(modulus),
    'HS512 with the RSA key in PEM': forge(
      { ...RS, alg: 'HS512' },
      CLAIMS,
      signers.hmac(rsaPem, 'sha512'),
    ),
    'HS256 with the EC key in PEM': forge({ ...ES, alg: 'HS256' }, CLAIMS, signers.hmac(ecPem)),
    'HS256 with nothing': byHmac(''),
    'PS256 by the RSA key': forge({ ...RS, alg: 'PS256' }, CLAIMS, signers.pss(rsa.privateKey)),
    'RS256 that is PSS': forge(RS, CLAIMS, signers.pss(rsa.privateKey)),
    'RS512 by the RSA key': forge(
      { ...RS, alg: 'RS512' },
      CLAIMS,
      signers.rsa(rsa.privateKey, 'sha512'),
    ),
    'RS256 over SHA-1': forge(RS, CLAIMS, signers.rsa(rsa.privateKey, 'sha1')),
    'ES384 by another curve': forge({ ...ES, alg: 'ES384' }, CLAIMS, signers.ecdsa(p384, 'sha384')),
    'EdDSA by another key': forge({ ...ES, alg: 'EdDSA' }, CLAIMS, signers.rsa(ed, null)),
    'RS256 with the id of the EC key': forge({ ...RS, kid: ec.id }, CLAIMS, byRsa),
    'ES256 with the id of the RSA key': withHeader({ kid: rsa.id }),
  },
  key: {
    'another key with our id': byOther({}),
    'another key without an id': forge({ alg: 'ES256' }, CLAIMS, signers.ecdsa(other.privateKey)),
    'another key with an id of its own': byOther({ kid: other.id }),
    'a strange RSA key': forge(RS, CLAIMS, signers.rsa(otherRsa.privateKey)),
    'a key in the header': byOther({ jwk: otherJwk }),
    'a good key in the header': withHeader({ jwk: ec.key.export({ format: 'jwk' }) }),
    'a URL of keys': byOther({ jku: 'https://evil.example/jwks' }),
    'a URL of a certificate': byOther({ x5u: 'https://evil.example/x5u' }),
    'a certificate in the header': byOther({ x5c: [rsaDer.toString('base64')] }),
    'a path as id': withHeader({ kid: '../../../dev/null' }),
    'a query as id': withHeader({ kid: "' OR 1=1 --" }),
    'an empty id': withHeader({ kid: '' }),
    'an id that is no text': withHeader({ kid: { $ne: 1 } }),
    'an id of Object.prototype': withHeader({ kid: '__proto__' }),
  },
  signature: {
    'r = s = 0': forge(ES, CLAIMS, signers.zeros),
    none: `${head}.${body}.`,
    'one bit other': `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    'cut off': `${head}.${body}.${signature.slice(0, -4)}`,
    longer: `${head}.${body}.${signature}AAAA`,
    'in DER': forge(ES, CLAIMS, signers.ecdsaDer(ec.privateKey)),
    'of another payload': `${head}.${segment({ ...CLAIMS, sub: 'system:admin' })}.${signature}`,
    'of another header': `${segment({ ...ES, typ: 'JWT' })}.${body}.${signature}`,
  },
  encoding: {
    empty: '',
    'one dot': '.',
    'two dots': '..',
    'no dot': head + body,
    'two segments': `${head}.${body}`,
    'four segments': `${good}.${signature}`,
    'five segments, as of an encrypted one': `${good}.${signature}.${body}`,
    'padded with =': `${good}=`,
    'in base64': forge(ES, { ...CLAIMS, x: '>>>???' }, byEc)
      .replaceAll('-', '+')
      .replaceAll('_', '/'),
    'a space before it': ` ${good}`,
    'a line break in it': `${head}.\n${body}.${signature}`,
    'stray bits at the end': `${good.slice(0, -1)}${good.endsWith('B') ? 'C' : 'B'}`,
    'a zero byte': `${good}\u0000`,
    'a payload that is no JSON': forge(ES, '{"iss":', byEc),
    'a payload that is a list': forge(ES, [CLAIMS], byEc),
    'a payload that is null': forge(ES, 'null', byEc),
    'a header that is no JSON': forge('{', CLAIMS, byEc),
    'a header that is a list': forge([ES], CLAIMS, byEc),
    'a payload that is no UTF-8': `${head}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${signature}`,
    'longer than any': forge(ES, { ...CLAIMS, padding: 'x'.repeat(10_000) }, byEc),
    'critical fields': withHeader({ crit: ['exp'], exp: 1 }),
    'a payload that is not encoded': withHeader({ b64: false, crit: ['b64'] }),
    'a compressed payload': withHeader({ zip: 'DEF' }),
  },
  claims: {
    'another issuer': withClaims({ iss: 'https://evil.example' }),
    'the issuer with a slash': withClaims({ iss: `${ISSUER}/` }),
    'the issuer in other letters': withClaims({ iss: ISSUER.toUpperCase() }),
    'no issuer': withClaims({ iss: undefined }),
    'a list of issuers': withClaims({ iss: [ISSUER] }),
    'expired now': withClaims({ exp: SECONDS }),
    'expired long ago': withClaims({ exp: 1 }),
    'an end that is text': withClaims({ exp: String(SECONDS + 600) }),
    'an end without bound': forge(
      ES,
      JSON.stringify(CLAIMS).replace(`"exp":${SECONDS + 600}`, '"exp":1e999'),
      byEc,
    ),
    'an end that is null': withClaims({ exp: null }),
    'not valid yet': withClaims({ nbf: SECONDS + 120 }),
    'issued in the future': withClaims({ iat: SECONDS + 120 }),
    'another audience': withClaims({ aud: ['vault'] }),
    'no audience in the list': withClaims({ aud: [] }),
    'an audience that contains ours': withClaims({ aud: `${AUDIENCE}.evil.example` }),
    'an audience in a list in a list': withClaims({ aud: [[AUDIENCE]] }),
    'an audience that is an object': withClaims({ aud: { 0: AUDIENCE } }),
    'an audience that is null': withClaims({ aud: null }),
  },
}

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
