import { MASTERS } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { type KeptCertificate, type KeptKind, keptCertificate } from './kept-certificate.ts'

const YEAR = 365 * 86_400_000

/** The certificate and key of a client, in PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

export interface ClientCertificateSource<T extends ClientCertificate = ClientCertificate> {
  /**
   * Creates or renews the certificate if needed; while nothing changes, the result equals the previous one.
   * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
   */
  current(): Promise<T>
}

export interface ClientCertificateOptions {
  /** The folder of the authority. */
  readonly folder: string
  readonly clock: Pick<Clock, 'now'>
}

/** The client that a certificate identifies; `file` is the name of its files without `.crt` and `.key`. */
export interface CertifiedClient {
  readonly file: string
  readonly user: string
  readonly groups: readonly string[]
}

/** A client certificate for a year, kept beside the authority and renewed in time. */
export function clientCertificate(
  client: CertifiedClient,
  { folder, clock }: ClientCertificateOptions,
): ClientCertificateSource<KeptCertificate> {
  const kind = kindOf(client)
  return { current: () => keptCertificate(folder, kind, clock.now()) }
}

function kindOf({ file, user, groups }: CertifiedClient): KeptKind {
  // Node prints one line for each attribute, with line breaks in values escaped.
  const subject = [`CN=${user}`, ...groups.map((group) => `O=${group}`)].join('\n')
  return {
    name: file,
    isFit: (certificate) => certificate.subject === subject,
    async issue(issuer, key, now) {
      const { issueClient } = await import('./issue.ts')
      return issueClient({ issuer, key, user, groups, life: YEAR }, now)
    },
  }
}

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
