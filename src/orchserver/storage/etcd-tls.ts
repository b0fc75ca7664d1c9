import { readFile } from 'node:fs/promises'
import { NodeProxyError } from '../../lib/error.ts'
import { belongTogether, certificateFault, keyFault } from '../../lib/tls/pem.ts'
import type { EtcdTls } from '../../storage/etcd/renewable-tls.ts'
import type { EtcdConfiguration } from '../config/configuration.ts'

/**
 * The authority by which etcd is verified, and the client certificate of this server; absent if no file is
 * configured.
 * @throws NP_ORCHSERVER_ETCD_FILE
 */
export async function readEtcdTls(etcd: EtcdConfiguration): Promise<EtcdTls> {
  const { caFile, certFile, keyFile } = etcd
  const ca = caFile === '' ? {} : { ca: await read(caFile, certificateFault) }
  return certFile === '' ? ca : { ...ca, ...(await readPair(certFile, keyFile)) }
}

async function readPair(certFile: string, keyFile: string) {
  const cert = await read(certFile, certificateFault)
  const key = await read(keyFile, keyFault)
  if (belongTogether(cert.toString(), key.toString())) return { cert, key }
  throw unusable(certFile, `and ${keyFile} do not belong together`)
}

async function read(path: string, faultOf: (text: string) => string | undefined): Promise<Buffer> {
  const content = await readFile(path).catch((cause: unknown) => {
    throw unusable(path, `cannot be read: ${String(cause)}`, cause)
  })
  const fault = faultOf(content.toString())
  if (fault === undefined) return content
  throw unusable(path, fault)
}

function unusable(path: string, what: string, cause?: unknown): NodeProxyError {
  return new NodeProxyError('NP_ORCHSERVER_ETCD_FILE', `${path} ${what}`, {
    object: path,
    hint: 'check the file and its permissions (--etcd-cafile, --etcd-certfile, --etcd-keyfile)',
    cause,
  })
}
