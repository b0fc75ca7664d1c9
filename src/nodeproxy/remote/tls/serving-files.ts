import { readFile } from 'node:fs/promises'
import { NodeProxyError } from '../../../lib/error.ts'
import { belongTogether, certificateFault, keyFault } from '../../../lib/tls/pem.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'

/** PEM texts of a TLS listener. */
export interface ServingFiles {
  readonly cert: string
  readonly key: string
  /** The authorities of client certificates; undefined: none are accepted. */
  readonly ca: string | undefined
}

type Paths = Pick<
  NodeProxyConfiguration['inspection'],
  'tlsCertFile' | 'tlsPrivateKeyFile' | 'clientCAFile'
>

/** Reads the files of the configuration. Throws NP_INSPECTION_CERTIFICATE where one cannot be used. */
export async function readServingFiles(paths: Paths): Promise<ServingFiles> {
  const { tlsCertFile, tlsPrivateKeyFile, clientCAFile } = paths
  const cert = await readPem('tlsCertFile', tlsCertFile, certificateFault)
  const key = await readPem('tlsPrivateKeyFile', tlsPrivateKeyFile, keyFault)
  if (!belongTogether(cert, key)) {
    throw unusable('tlsCertFile', tlsCertFile, `does not belong to the key ${tlsPrivateKeyFile}`)
  }
  const ca =
    clientCAFile === '' ? undefined : await readPem('clientCAFile', clientCAFile, certificateFault)
  return { cert, key, ca }
}

async function readPem(
  field: keyof Paths,
  path: string,
  faultOf: (text: string) => string | undefined,
): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw unusable(field, path, `cannot be read: ${cause.code ?? cause.message}`)
  })
  const fault = faultOf(text)
  if (fault === undefined) return text
  throw unusable(field, path, fault)
}

function unusable(field: keyof Paths, path: string, what: string): NodeProxyError {
  const message = `inspection.${field}: ${JSON.stringify(path)} ${what}`
  return new NodeProxyError('NP_INSPECTION_CERTIFICATE', message, {
    object: path,
    hint: 'give files in PEM, a certificate first in its file and its key without a passphrase; they are read again every 10 s',
  })
}
