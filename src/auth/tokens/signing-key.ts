import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { exportJWK, type JWK } from 'jose'
import { NodeProxyError } from '../../lib/error.ts'

/** How tokens may be signed. No other algorithm is accepted, whatever a token's header names. */
export type Algorithm = 'ES256' | 'RS256'

/** A public key that tokens are verified with. */
export interface VerificationKey {
  /** base64url of the SHA-256 of the key's DER form (SubjectPublicKeyInfo), as in Kubernetes. */
  readonly id: string
  readonly algorithm: Algorithm
  readonly key: KeyObject
}

/** A private key that tokens are signed with. */
export interface SigningKey extends VerificationKey {
  readonly privateKey: KeyObject
}

/** NIST SP 800-131A: shorter RSA keys are not to be used. */
const MIN_RSA_BITS = 2048

/** Reads a private key in PEM form; throws NP_AUTH_KEY with `source`, never with the key. */
export function readSigningKey(pem: string, source: string): SigningKey {
  const privateKey = parse(() => createPrivateKey(pem), source)
  return { ...verificationKey(createPublicKey(privateKey), source), privateKey }
}

/** Reads the public key of PEM text, which may hold the private one. */
export function readVerificationKey(pem: string, source: string): VerificationKey {
  return verificationKey(
    parse(() => createPublicKey(pem), source),
    source,
  )
}

/** The public key as a JSON Web Key (RFC 7517), for /openid/v1/jwks. */
export async function toJwk({ id, algorithm, key }: VerificationKey): Promise<JWK> {
  return { use: 'sig', ...(await exportJWK(key)), kid: id, alg: algorithm }
}

function verificationKey(key: KeyObject, source: string): VerificationKey {
  const der = key.export({ type: 'spki', format: 'der' })
  const id = createHash('sha256').update(der).digest('base64url')
  return { id, algorithm: algorithmOf(key, source), key }
}

function algorithmOf(key: KeyObject, source: string): Algorithm {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'ES256'
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= MIN_RSA_BITS) return 'RS256'
  throw unusable(source, `it is a key of type ${key.asymmetricKeyType ?? 'unknown'}`)
}

function parse(read: () => KeyObject, source: string): KeyObject {
  try {
    return read()
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException
    throw unusable(source, `it cannot be read (${code})`)
  }
}

function unusable(source: string, what: string): NodeProxyError {
  return new NodeProxyError('NP_AUTH_KEY', `${source}: no key for tokens: ${what}`, {
    object: source,
    hint: `give a PEM key: ECDSA on curve P-256, or RSA of at least ${MIN_RSA_BITS} bits`,
  })
}
