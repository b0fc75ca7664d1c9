import { NODE_CLIENT } from '../../auth/node-client.ts'
import {
  type ClientCertificateOptions,
  type ClientCertificateSource,
  clientCertificate,
} from './client-certificate.ts'
import type { KeptCertificate } from './kept-certificate.ts'

/** The certificate by which nodes know this server, kept beside the authority and renewed in time. */
export function nodeClientCertificate(
  options: ClientCertificateOptions,
): ClientCertificateSource<KeptCertificate> {
  return clientCertificate({ file: 'node-client', user: NODE_CLIENT, groups: [] }, options)
}
