import type { Clock } from '../../lib/clock.ts'
import type { CertificateNames } from './certificate-names.ts'
import { isFor } from './certificate-validity.ts'
import { type KeptKind, keptCertificate } from './kept-certificate.ts'

/** The certificate, key and authority of a server, in PEM. */
export interface ServingCertificate {
  readonly cert: string
  readonly key: string
  /** The authority that clients must trust; undefined: they already trust it. */
  readonly authority: string | undefined
}

export interface CertificateSource {
  /**
   * The certificate to serve with from now on. Creates, renews or re-reads it if needed; while nothing changes,
   * the result equals the previous one.
   * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
   */
  current(): Promise<ServingCertificate>
}

export interface MadeCertificateOptions {
  /** The folder of the authority; created if needed, readable for this user only. */
  readonly folder: string
  readonly names: CertificateNames
  readonly clock: Clock
}

/** A certificate of an authority of our own, both kept in a folder and renewed in time. */
export function madeCertificate(options: MadeCertificateOptions): CertificateSource {
  const { folder, names, clock } = options
  const kind: KeptKind = {
    name: 'server',
    isFit: (certificate) => isFor(certificate, names),
    async issue(issuer, key, now) {
      const { issueServer } = await import('./issue.ts')
      return issueServer({ issuer, key, names }, now)
    },
  }
  return { current: () => keptCertificate(folder, kind, clock.now()) }
}
