import type { Clock } from '../../lib/clock.ts'
import type { CertificateNames } from './certificate-names.ts'
import { isFor } from './certificate-validity.ts'
import { type KeptKind, keptCertificate } from './kept-certificate.ts'

/** What a server shows its clients, in PEM. */
export interface ServingCertificate {
  readonly cert: string
  readonly key: string
  /** What clients must trust; undefined: an authority that they know already. */
  readonly authority: string | undefined
}

export interface CertificateSource {
  /**
   * What to serve with from now on. Makes, renews or reads again what has to be;
   * while nothing changes, the answer is equal to the one before.
   * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
   */
  current(): Promise<ServingCertificate>
}

export interface MadeCertificateOptions {
  /** Made if needed, for this user only. */
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
