import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { NodeProxyError, systemCode } from '../../lib/error.ts'
import type { FieldReader } from './field-reader.ts'

/** Reads a PEM text; called for every new connection. Undefined if none is configured. @throws NP_CLIENT_CREDENTIAL */
export type PemSource = () => Promise<string | undefined>

const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/

/**
 * The PEM of `<field>-data` (base64), else of the file `<field>` (relative to the kubeconfig's folder); the source
 * returns undefined if the entry has neither.
 * @throws NP_CLIENT_KUBECONFIG
 */
export function pemSource(reader: FieldReader, field: string, folder: string): PemSource {
  const data = reader.text(`${field}-data`)
  if (data !== undefined) {
    if (!BASE64.test(data)) throw reader.refuse(`${field}-data`, 'is not base64')
    const pem = Buffer.from(data, 'base64').toString('utf8')
    return () => Promise.resolve(pem)
  }
  const file = reader.text(field)
  if (file === undefined) return () => Promise.resolve(undefined)
  return fileSource(resolve(folder, file))
}

/** Reads a PEM file at each call. */
export function fileSource(path: string): PemSource {
  return async () => {
    try {
      return await readFile(path, 'utf8')
    } catch (cause) {
      const code = systemCode(cause)
      const message = `the file ${JSON.stringify(path)} cannot be read: ${code}`
      throw new NodeProxyError('NP_CLIENT_CREDENTIAL', message, { object: path, cause })
    }
  }
}
