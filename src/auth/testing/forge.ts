import {
  constants,
  createHmac,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto'
import { readSigningKey, type SigningKey } from '../tokens/signing-key.ts'

/** A new key that tokens may be signed with. */
export function newSigningKey(algorithm: 'ES256' | 'RS256' = 'ES256'): SigningKey {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return readSigningKey(pemOf(privateKey), 'a test')
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' })
}

/** Text or JSON as one segment of a token. */
export function segment(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

export type Signer = (input: string) => Buffer

/** A token with any header and payload, signed in any way. */
export function forge(header: unknown, payload: unknown, signer: Signer): string {
  const input = `${segment(header)}.${segment(payload)}`
  return `${input}.${signer(input).toString('base64url')}`
}

/** Signatures as attackers and as valid keys make them. */
export const signers = {
  none: () => Buffer.alloc(0),
  zeros: () => Buffer.alloc(64),
  hmac: (secret: string | Buffer, hash = 'sha256'): Signer => {
    return (input) => createHmac(hash, secret).update(input).digest()
  },
  ecdsa: (key: KeyObject, hash = 'sha256'): Signer => {
    return (input) => signBytes(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  },
  ecdsaDer: (key: KeyObject): Signer => {
    return (input) => createSign('sha256').update(input).sign(key)
  },
  rsa: (key: KeyObject, hash: string | null = 'sha256'): Signer => {
    return (input) => signBytes(hash, Buffer.from(input), key)
  },
  pss: (key: KeyObject): Signer => {
    const padding = constants.RSA_PKCS1_PSS_PADDING
    return (input) => signBytes('sha256', Buffer.from(input), { key, padding, saltLength: 32 })
  },
} as const
