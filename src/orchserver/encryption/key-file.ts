import { createSecretKey } from 'node:crypto'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import type { EncryptionKey, EncryptionKeys } from '../../storage/encryption/keyring.ts'

/** The content of a key file. */
export interface KeyFile {
  readonly keys: EncryptionKeys
  /** Names of keys that are marked as lost: values that need one of them do not prevent a start. */
  readonly lost: ReadonlySet<string>
}

const NAME = /^[\w.-]{1,64}$/
/** 32 bytes in Base64, with padding. */
const BYTES = /^[A-Za-z0-9+/]{43}=$/
const FORM = 'write NAME:KEY, where KEY is 32 bytes in Base64 (openssl rand -base64 32)'

/**
 * Reads the text of a key file: one key for each line as `NAME:BASE64`, the first of which encrypts; `NAME:lost`
 * for a key that no longer exists; blank lines and lines that begin with `#`. No error quotes a line,
 * because it may be a key.
 * @throws NP_ORCHSERVER_ENCRYPTION_FILE with the number of the line
 */
export function parseKeyFile(path: string, text: string): KeyFile {
  const lines = new Map<string, number>()
  const keys: EncryptionKey[] = []
  const lost = new Set<string>()
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    const [name, key] = readLine(path, line, index + 1)
    const earlier = lines.get(name)
    if (earlier !== undefined) {
      const what = `line ${index + 1} has the name ${quote(name)} of line ${earlier}`
      throw keyFileError(path, what, 'give each key a name of its own')
    }
    lines.set(name, index + 1)
    if (key === undefined) lost.add(name)
    else keys.push(key)
  }
  const [first, ...others] = keys
  if (first === undefined) throw keyFileError(path, 'has no key', FORM)
  return { keys: [first, ...others], lost }
}

function readLine(path: string, line: string, number: number): [string, EncryptionKey | undefined] {
  const colon = line.indexOf(':')
  const [name, value] = [line.slice(0, colon), line.slice(colon + 1)]
  if (colon < 0) throw keyFileError(path, `line ${number} has no name and colon`, FORM)
  if (!NAME.test(name)) {
    const remedy = 'use 1 to 64 letters, digits, and the characters . _ -'
    throw keyFileError(path, `line ${number} has an invalid name`, remedy)
  }
  if (value === 'lost') return [name, undefined]
  const bytes = Buffer.from(value, 'base64')
  if (!BYTES.test(value) || bytes.toString('base64') !== value) {
    throw keyFileError(path, `line ${number} has a key that is not 32 bytes in Base64`, FORM)
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    throw keyFileError(path, `line ${number} has a key that is not random`, FORM)
  }
  return [name, { name, secret: createSecretKey(bytes) }]
}

/** NP_ORCHSERVER_ENCRYPTION_FILE; `what` follows the path in the message. */
export function keyFileError(
  path: string,
  what: string,
  hint: string,
  cause?: unknown,
): NodeProxyError {
  const details = { object: path, hint, ...(cause !== undefined && { cause }) }
  return new NodeProxyError('NP_ORCHSERVER_ENCRYPTION_FILE', `${path} ${what}`, details)
}
