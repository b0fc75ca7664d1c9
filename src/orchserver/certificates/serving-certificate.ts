import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { belongTogether, certificateBlocks, certificateFault, keyFault } from '../../lib/tls/pem.ts'
import type { CertificateNames } from './certificate-names.ts'
import { isFor } from './certificate-validity.ts'
import { type KeptKind, keptCertificate } from './kept-certificate.ts'
import { readPem, unusable } from './pem.ts'

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

/** A certificate that the operator makes and renews, in two files. */
export function givenCertificate(certFile: string, keyFile: string): CertificateSource {
  return {
    async current() {
      const [cert, key] = [await readPem(certFile), await readPem(keyFile)]
      refuse(certFile, certificateFault(cert))
      refuse(keyFile, keyFault(key))
      if (belongTogether(cert, key)) return { cert, key, authority: rootOf(cert) }
      throw unusable(certFile, `and ${keyFile} do not belong together`, HINT)
    },
  }
}

const HINT =
  'give a certificate in PEM, first in its file (--tls-cert-file), and its key without a passphrase (--tls-private-key-file)'

function refuse(path: string, fault: string | undefined): void {
  if (fault !== undefined) throw unusable(path, fault, HINT)
}

/** The self-signed certificate of a chain. */
function rootOf(chain: string): string | undefined {
  return certificateBlocks(chain).find((pem) => {
    const certificate = new X509Certificate(pem)
    return certificate.verify(certificate.publicKey)
  })
}
