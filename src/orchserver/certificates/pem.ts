import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { NodeProxyError } from '../../lib/error.ts'
import { certificateFault } from '../../lib/tls/pem.ts'

/** The text of a file; undefined: it does not exist. Throws NP_ORCHSERVER_CERTIFICATE. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable(path, `cannot be read: ${String(cause)}`, 'check the path and the permissions')
  }
}

/** The text of a file. Throws NP_ORCHSERVER_CERTIFICATE, also when it does not exist. */
export async function readPem(path: string): Promise<string> {
  const text = await readIfPresent(path)
  if (text !== undefined) return text
  throw unusable(path, 'does not exist', 'check the path')
}

export function unusable(path: string, what: string, hint: string): NodeProxyError {
  const details = { object: path, hint }
  return new NodeProxyError('NP_ORCHSERVER_CERTIFICATE', `${path} ${what}`, details)
}

/**
 * The text of a file of authorities, in PEM; undefined: `path` is empty, so no file is configured.
 * @throws NP_ORCHSERVER_CERTIFICATE with `hint` when the file holds anything else
 */
export async function readAuthorities(path: string, hint: string): Promise<string | undefined> {
  if (path === '') return undefined
  const text = await readPem(path)
  const fault = certificateFault(text)
  if (fault === undefined) return text
  throw unusable(path, fault, hint)
}

/** A new P-256 key, in PEM. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}
