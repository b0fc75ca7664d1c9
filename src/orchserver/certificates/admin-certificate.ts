import { MASTERS } from '../../auth/user.ts'
import {
  type ClientCertificateOptions,
  type ClientCertificateSource,
  clientCertificate,
} from './client-certificate.ts'

/** The user of the kubeconfig that is written at every start. */
export const ADMIN = 'orch-admin'

/** The client certificate of the administrator, kept beside the authority and renewed in time. */
export function adminCertificate(options: ClientCertificateOptions): ClientCertificateSource {
  const source = clientCertificate({ file: 'admin', user: ADMIN, groups: [MASTERS] }, options)
  return {
    async current() {
      const { cert, key } = await source.current()
      return { cert, key }
    },
  }
}
