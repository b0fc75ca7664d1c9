import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { quote } from '../../lib/quote.ts'
import type { EncryptionKey, Keyring } from './keyring.ts'

/**
 * An encrypted value is MAGIC, the version byte, the length of the key's name (one byte), that name, the nonce,
 * the ciphertext of AES-256-GCM, and its tag. Everything before the nonce, followed by the storage key, is the
 * additional authenticated data: a value that was changed, or moved to another storage key, is refused.
 */
const MAGIC = Buffer.from('\0enc')
const VERSION = 1
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** MAGIC, the version and the length of the name. */
const FIXED_BYTES = MAGIC.length + 2

/** A value, or why it cannot be decrypted, as the end of a sentence. */
export type Decrypted =
  | { readonly value: Buffer; readonly cause?: never }
  | { readonly value?: never; readonly cause: string }

/** Whether a value is encrypted. No JSON text begins with MAGIC. */
export function isEncrypted(value: Buffer): boolean {
  return value.subarray(0, MAGIC.length).equals(MAGIC)
}

/**
 * The name of the key that an encrypted value needs; undefined: the value does not have the form of an
 * encrypted one.
 */
export function keyNameOf(value: Buffer): string | undefined {
  const parts = split(value)
  return 'cause' in parts ? undefined : parts.name
}

/** Encrypts a value for one storage key, with a random nonce of 96 bits. */
export function encryptValue({ name, secret }: EncryptionKey, at: string, value: Buffer): Buffer {
  const label = Buffer.from(name)
  const header = Buffer.concat([MAGIC, Buffer.from([VERSION, label.length]), label])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.concat([header, Buffer.from(at)]))
  return Buffer.concat([header, nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts what `encryptValue` returned for this storage key. */
export function decryptValue(keys: Pick<Keyring, 'find'>, at: string, value: Buffer): Decrypted {
  const parts = split(value)
  if ('cause' in parts) return parts
  const key = keys.find(parts.name)
  if (key === undefined) {
    return {
      cause: `it is encrypted with the key ${quote(parts.name)}, which is not among the encryption keys; put that key back`,
    }
  }
  const { header, nonce, ciphertext, tag } = parts
  const decipher = createDecipheriv(CIPHER, key.secret, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.concat([header, Buffer.from(at)]))
  decipher.setAuthTag(tag)
  const text = decipher.update(ciphertext)
  try {
    return { value: Buffer.concat([text, decipher.final()]) }
  } catch {
    return {
      cause: `the key ${quote(parts.name)} does not decrypt it: it was changed or moved, or another key of that name encrypted it`,
    }
  }
}

interface Parts {
  readonly header: Buffer
  readonly name: string
  readonly nonce: Buffer
  readonly ciphertext: Buffer
  readonly tag: Buffer
}

function split(value: Buffer): Parts | { readonly cause: string } {
  if (!isEncrypted(value)) return { cause: 'it is not encrypted' }
  const version = value[MAGIC.length] ?? 0
  if (version !== VERSION) {
    return { cause: `it is encrypted in a format of another version (${version}) of orch-server` }
  }
  const nonceAt = FIXED_BYTES + (value[MAGIC.length + 1] ?? 0)
  const textAt = nonceAt + NONCE_BYTES
  const tagAt = value.length - TAG_BYTES
  if (tagAt < textAt) return { cause: 'it is encrypted, and its end is missing' }
  return {
    header: value.subarray(0, nonceAt),
    name: value.toString('latin1', FIXED_BYTES, nonceAt),
    nonce: value.subarray(nonceAt, textAt),
    ciphertext: value.subarray(textAt, tagAt),
    tag: value.subarray(tagAt),
  }
}
