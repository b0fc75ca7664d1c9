import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { TlsMaterial, TlsSettings } from './connection.ts'
import type { FieldReader } from './field-reader.ts'
import { pemSource } from './pem-source.ts'

/** The entries of a kubeconfig that TLS needs. */
export interface KubeconfigTlsInput {
  readonly cluster: FieldReader
  readonly user: FieldReader | undefined
  /** Folder of the kubeconfig. */
  readonly folder: string
}

/**
 * The TLS settings of a cluster and a user entry. Reads the files once, so that an invalid one fails the start.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_CREDENTIAL
 */
export async function kubeconfigTls(input: KubeconfigTlsInput): Promise<TlsSettings> {
  const { cluster, user, folder } = input
  const ca = pemSource(cluster, 'certificate-authority', folder)
  const cert = user && pemSource(user, 'client-certificate', folder)
  const key = user && pemSource(user, 'client-key', folder)
  const insecureSkipVerify = cluster.flag('insecure-skip-tls-verify')
  const material = async (): Promise<TlsMaterial> => ({
    ca: await ca(),
    cert: await cert?.(),
    key: await key?.(),
  })
  const first = await material()
  if (insecureSkipVerify && first.ca !== undefined) {
    const why = 'contradicts certificate-authority'
    throw cluster.refuse('insecure-skip-tls-verify', why, 'remove one of the two')
  }
  checkMaterial(first, cluster, user)
  const serverName = cluster.text('tls-server-name')
  return { material, serverName, insecureSkipVerify }
}

function checkMaterial(first: TlsMaterial, cluster: FieldReader, user?: FieldReader): void {
  const { ca, cert, key } = first
  if (ca !== undefined && !succeeds(() => new X509Certificate(ca))) {
    throw cluster.refuse('certificate-authority', 'is not a PEM certificate')
  }
  if (user === undefined || (cert === undefined && key === undefined)) return
  if (cert === undefined || key === undefined) {
    throw user.refuse('client-certificate', 'and client-key must come together')
  }
  if (!succeeds(() => new X509Certificate(cert))) {
    throw user.refuse('client-certificate', 'is not a PEM certificate')
  }
  if (!succeeds(() => createSecureContext({ cert, key }))) {
    throw user.refuse('client-key', 'is not the PEM key of client-certificate')
  }
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}
