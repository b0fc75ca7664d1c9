import { readFile } from 'node:fs/promises'
import type { Connection } from '../../client/connection/connection.ts'
import { quote } from '../../lib/quote.ts'
import type { TlsTrust } from '../../lib/tls/first-connection.ts'
import { usageError } from '../usage/usage-error.ts'
import type { NodeFlags } from './node-flags.ts'

/**
 * By which orchctl and a node verify each other: the authority of the flags, or that of the API server, and the client
 * certificate for the API server.
 * @throws NP_ORCHCTL_USAGE, NP_CLIENT_CREDENTIAL
 */
export async function nodeTrust(
  { tls, credentials }: Connection,
  { inspectionCertificateAuthority: file }: NodeFlags,
): Promise<TlsTrust> {
  const material = await tls?.material()
  const ca = file === undefined ? material?.ca : await readAuthority(file)
  if (ca === undefined) {
    const hint =
      'give --inspection-certificate-authority FILE; nothing is sent to a node unverified'
    throw usageError('no authority of the nodes is known: the kubeconfig has none', hint)
  }
  const { certificate } = await credentials.current()
  return { ca, cert: material?.cert, key: material?.key, ...certificate }
}

async function readAuthority(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const message = `--inspection-certificate-authority ${quote(file)} cannot be read: ${error.code}`
    throw usageError(message)
  })
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw usageError(`--inspection-certificate-authority ${quote(file)} holds no certificate in PEM`)
}
