import { MASTERS } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { type KeptKind, keptCertificate } from './kept-certificate.ts'

/** The user of the kubeconfig that is written at every start. */
export const ADMIN = 'orch-admin'

const YEAR = 365 * 86_400_000

/** By what a client proves who it is, in PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

export interface ClientCertificateSource {
  /**
   * Makes or renews the certificate if needed; while nothing changes, the answer is equal to
   * the one before.
   * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
   */
  current(): Promise<ClientCertificate>
}

export interface AdminCertificateOptions {
  /** The folder of the authority. */
  readonly folder: string
  readonly clock: Pick<Clock, 'now'>
}

/** The client certificate of the administrator, kept beside the authority and renewed in time. */
export function adminCertificate(options: AdminCertificateOptions): ClientCertificateSource {
  const { folder, clock } = options
  return {
    async current() {
      const { cert, key } = await keptCertificate(folder, KIND, clock.now())
      return { cert, key }
    },
  }
}

/** As Node prints it: a line for each part, with line breaks inside of values escaped. */
const SUBJECT = `CN=${ADMIN}\nO=${MASTERS}`

const KIND: KeptKind = {
  name: 'admin',
  isFit: ({ subject }) => subject === SUBJECT,
  async issue(issuer, key, now) {
    const { issueClient } = await import('./issue.ts')
    return issueClient({ issuer, key, user: ADMIN, groups: [MASTERS], life: YEAR }, now)
  },
}
