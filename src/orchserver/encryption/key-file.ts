import { createSecretKey, randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import type { EncryptionKey, EncryptionKeys } from '../../storage/encryption/keyring.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { writePrivateFile } from '../system/private-file.ts'

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

type Where = Pick<OrchServerConfiguration, 'dataDir' | 'encryption'>

/** The path of `--encryption-key-file`, else that of the key file in the data directory. */
export function keyFilePath({ dataDir, encryption }: Where): string {
  return encryption.keyFile === '' ? join(dataDir, 'pki', 'encryption.keys') : encryption.keyFile
}

/** The text of a key file; undefined: it does not exist. @throws NP_ORCHSERVER_ENCRYPTION_FILE */
export async function readKeyText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { code = String(cause) } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    const hint = 'check the path and the permissions (--encryption-key-file)'
    throw keyFileError(path, `cannot be read: ${code}`, hint, cause)
  }
}

/** Reads a key file; undefined: it does not exist. @throws NP_ORCHSERVER_ENCRYPTION_FILE */
export async function readKeyFile(path: string): Promise<KeyFile | undefined> {
  const text = await readKeyText(path)
  return text === undefined ? undefined : parseKeyFile(path, text)
}

/** NP_ORCHSERVER_ENCRYPTION_FILE for a file that does not exist. */
export function missingKeyFile(path: string): Error {
  return keyFileError(
    path,
    'does not exist',
    'put the key file back, or name another one (--encryption-key-file); Secrets of the store cannot be read without it',
  )
}

/**
 * Creates a key file with one random key, readable for this user only, and returns its text. @throws
 * NP_ORCHSERVER_FILE
 */
export async function makeKeyFile(path: string): Promise<string> {
  const name = `key-${randomBytes(4).toString('hex')}`
  const line = `${name}:${randomBytes(32).toString('base64')}`
  const text = `# Encrypts Secrets in the store; without it they are lost. NAME:KEY, the first line encrypts.\n${line}\n`
  await writePrivateFile(path, text)
  return text
}

/** Whether other users of the machine may read a file. */
export async function isReadableForOthers(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  return (mode & 0o044) !== 0
}
