import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { type KeyFile, keyFileError, parseKeyFile } from './key-file.ts'

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
