import { generateKeyPairSync } from 'node:crypto'
import type { JsonObject } from '../../lib/json.ts'
import type { SigningKey } from '../tokens/signing-key.ts'
import { forge, newSigningKey, segment, signers } from './forge.ts'

/** What an attacker knows about a server, and the keys that sign valid tokens. */
export interface ForgedServer {
  readonly issuer: string
  /** The audience of valid tokens. */
  readonly audience: string
  readonly ec: SigningKey
  readonly rsa: SigningKey
  /** The claims of a valid token. */
  readonly claims: JsonObject
  /** The current time, in seconds since 1970. */
  readonly seconds: number
}

/** By kind and name: tokens that a server must reject, no two alike. */
export type Forgeries = Readonly<Record<string, Readonly<Record<string, string>>>>

export function forgeries({ issuer, audience, ec, rsa, claims, seconds }: ForgedServer): Forgeries {
  const other = newSigningKey('ES256')
  const otherRsa = newSigningKey('RS256')
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const ed = generateKeyPairSync('ed25519').privateKey
  const ES = { alg: 'ES256', kid: ec.id }
  const RS = { alg: 'RS256', kid: rsa.id }
  const byEc = signers.ecdsa(ec.privateKey)
  const byRsa = signers.rsa(rsa.privateKey)
  const good = forge(ES, claims, byEc)
  const [head = '', body = '', signature = ''] = good.split('.')
  const rsaPem = rsa.key.export({ type: 'spki', format: 'pem' })
  const rsaDer = rsa.key.export({ type: 'spki', format: 'der' })
  const rsaPkcs1 = rsa.key.export({ type: 'pkcs1', format: 'pem' })
  const ecPem = ec.key.export({ type: 'spki', format: 'pem' })
  const otherJwk = other.key.export({ format: 'jwk' })
  const modulus = Buffer.from(String(rsa.key.export({ format: 'jwk' }).n), 'base64url')

  const withHeader = (header: object) => forge({ ...ES, ...header }, claims, byEc)
  const withClaims = (changed: object) => forge(ES, { ...claims, ...changed }, byEc)
  const withPayload = (encoded: string) => {
    return `${head}.${encoded}.${byEc(`${head}.${encoded}`).toString('base64url')}`
  }
  const byOther = (header: object) => {
    return forge({ ...ES, ...header }, claims, signers.ecdsa(other.privateKey))
  }
  const byHmac = (secret: string | Buffer) => {
    return forge({ ...RS, alg: 'HS256' }, claims, signers.hmac(secret))
  }

  return {
    algorithm: {
      none: forge({ alg: 'none' }, claims, signers.none),
      None: forge({ alg: 'None' }, claims, signers.none),
      nOnE: forge({ alg: 'nOnE' }, claims, signers.none),
      'none with a kid': forge({ alg: 'none', kid: ec.id }, claims, signers.none),
      'none over a good signature': `${segment({ alg: 'none', kid: ec.id })}.${body}.${signature}`,
      'no algorithm': forge({ kid: ec.id }, claims, byEc),
      'an algorithm that is no text': forge({ alg: ['ES256'], kid: ec.id }, claims, byEc),
      'ES256 in small letters': withHeader({ alg: 'es256' }),
      'HS256 with the RSA key in PEM': byHmac(rsaPem),
      'HS256 with the RSA key in PEM, trimmed': byHmac(rsaPem.trim()),
      'HS256 with the RSA key in DER': byHmac(rsaDer),
      'HS256 with the RSA key in PKCS1': byHmac(rsaPkcs1),
      'HS256 with the modulus': byHmac(modulus),
      'HS512 with the RSA key in PEM': forge(
        { ...RS, alg: 'HS512' },
        claims,
        signers.hmac(rsaPem, 'sha512'),
      ),
      'HS256 with the EC key in PEM': forge({ ...ES, alg: 'HS256' }, claims, signers.hmac(ecPem)),
      'HS256 with nothing': byHmac(''),
      'PS256 by the RSA key': forge({ ...RS, alg: 'PS256' }, claims, signers.pss(rsa.privateKey)),
      'RS256 that is PSS': forge(RS, claims, signers.pss(rsa.privateKey)),
      'RS512 by the RSA key': forge(
        { ...RS, alg: 'RS512' },
        claims,
        signers.rsa(rsa.privateKey, 'sha512'),
      ),
      'RS256 over SHA-1': forge(RS, claims, signers.rsa(rsa.privateKey, 'sha1')),
      'ES384 by another curve': forge(
        { ...ES, alg: 'ES384' },
        claims,
        signers.ecdsa(p384, 'sha384'),
      ),
      'EdDSA by another key': forge({ ...ES, alg: 'EdDSA' }, claims, signers.rsa(ed, null)),
      'RS256 with the id of the EC key': forge({ ...RS, kid: ec.id }, claims, byRsa),
      'ES256 with the id of the RSA key': withHeader({ kid: rsa.id }),
    },
    key: {
      'another key with our id': byOther({}),
      'another key without an id': forge({ alg: 'ES256' }, claims, signers.ecdsa(other.privateKey)),
      'another key with an id of its own': byOther({ kid: other.id }),
      'a strange RSA key': forge(RS, claims, signers.rsa(otherRsa.privateKey)),
      'a key in the header': byOther({ jwk: otherJwk }),
      'a good key in the header': withHeader({ jwk: ec.key.export({ format: 'jwk' }) }),
      'a URL of keys': byOther({ jku: 'https://evil.example/jwks' }),
      'a URL of a certificate': byOther({ x5u: 'https://evil.example/x5u' }),
      'a certificate in the header': byOther({ x5c: [rsaDer.toString('base64')] }),
      'a URL of keys by our key': withHeader({ jku: `${issuer}/openid/v1/jwks` }),
      'a URL of a certificate by our key': withHeader({ x5u: `${issuer}/x5u` }),
      'a certificate in the header by our key': withHeader({ x5c: [rsaDer.toString('base64')] }),
      'a path as id': withHeader({ kid: '../../../dev/null' }),
      'a query as id': withHeader({ kid: "' OR 1=1 --" }),
      'an empty id': withHeader({ kid: '' }),
      'an id that is no text': withHeader({ kid: { $ne: 1 } }),
      'an id of Object.prototype': withHeader({ kid: '__proto__' }),
    },
    signature: {
      'r = s = 0': forge(ES, claims, signers.zeros),
      none: `${head}.${body}.`,
      'one bit other': `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      'cut off': `${head}.${body}.${signature.slice(0, -4)}`,
      longer: `${head}.${body}.${signature}AAAA`,
      'in DER': forge(ES, claims, signers.ecdsaDer(ec.privateKey)),
      'of another payload': `${head}.${segment({ ...claims, sub: 'system:admin' })}.${signature}`,
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
      'in base64': forge(ES, { ...claims, x: '>>>???' }, byEc)
        .replaceAll('-', '+')
        .replaceAll('_', '/'),
      'a space before it': ` ${good}`,
      'a line break in it': `${head}.\n${body}.${signature}`,
      'a line break in the signature': `${good.slice(0, -4)}\n${good.slice(-4)}`,
      'a signature in base64': `${head}.${body}.${Buffer.from(signature, 'base64url').toString('base64')}`,
      'stray bits at the end': withStrayBits(good),
      'a zero byte': `${good}\u0000`,
      'a payload that is no JSON': forge(ES, '{"iss":', byEc),
      'a payload that is a list': forge(ES, [claims], byEc),
      'a payload that is null': forge(ES, 'null', byEc),
      'a header that is no JSON': forge('{', claims, byEc),
      'a header that is a list': forge([ES], claims, byEc),
      'a payload that is no UTF-8': withPayload(
        Buffer.from(JSON.stringify({ ...claims, x: 'é' }), 'latin1').toString('base64url'),
      ),
      'longer than any': forge(ES, { ...claims, padding: 'x'.repeat(10_000) }, byEc),
      'critical fields': withHeader({ crit: ['exp'], exp: 1 }),
      'a payload that says it is not encoded': withHeader({ b64: false }),
      'a payload that is not encoded': withHeader({ b64: false, crit: ['b64'] }),
      'a compressed payload': withHeader({ zip: 'DEF' }),
    },
    claims: {
      'another issuer': withClaims({ iss: 'https://evil.example' }),
      'the issuer with a slash': withClaims({ iss: `${issuer}/` }),
      'the issuer in other letters': withClaims({ iss: issuer.toUpperCase() }),
      'no issuer': withClaims({ iss: undefined }),
      'a list of issuers': withClaims({ iss: [issuer] }),
      'expired now': withClaims({ exp: seconds }),
      'expired long ago': withClaims({ exp: 1 }),
      'an end that is text': withClaims({ exp: String(seconds + 600) }),
      'an end without bound': forge(
        ES,
        JSON.stringify(claims).replace(`"exp":${seconds + 600}`, '"exp":1e999'),
        byEc,
      ),
      'an end that is null': withClaims({ exp: null }),
      'not valid yet': withClaims({ nbf: seconds + 120 }),
      'issued in the future': withClaims({ iat: seconds + 120 }),
      'another audience': withClaims({ aud: ['vault'] }),
      'no audience in the list': withClaims({ aud: [] }),
      'an audience that contains ours': withClaims({ aud: `${audience}.evil.example` }),
      'an audience in a list in a list': withClaims({ aud: [[audience]] }),
      'an audience that is an object': withClaims({ aud: { 0: audience } }),
      'an audience that is null': withClaims({ aud: null }),
    },
  }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Another text for the same bytes: in base64url of 64 bytes, four bits of the last character are unused. */
function withStrayBits(token: string): string {
  return `${token.slice(0, -1)}${ALPHABET[ALPHABET.indexOf(token.slice(-1)) + 1]}`
}
