import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { type InstalledAuthority, openAuthority } from './authority.ts'
import type { CertificateNames } from './certificate-names.ts'
import { belongTogether, isDue, isFor, isIssuedBy } from './certificate-validity.ts'
import { newKey, readIfPresent } from './pem.ts'
import type { CertificateSource, ServingCertificate } from './serving-certificate.ts'

export interface MadeCertificateOptions {
  /** Made if needed, for this user only. */
  readonly folder: string
  readonly names: CertificateNames
  readonly clock: Clock
}

/** A certificate of an authority of our own, both kept in a folder and renewed in time. */
export function madeCertificate(options: MadeCertificateOptions): CertificateSource {
  const { folder, names, clock } = options
  const files = { cert: join(folder, 'server.crt'), key: join(folder, 'server.key') }
  return {
    async current() {
      const now = clock.now()
      const authority = await openAuthority(folder, now)
      const [cert, key] = [await readIfPresent(files.cert), await readIfPresent(files.key)]
      if (cert !== undefined && key !== undefined) {
        const kept = { cert, key, authority: authority.cert }
        if (isFit(kept, authority, names) && !isDue(new X509Certificate(cert), now)) return kept
      }
      const made = await make(authority, names, now)
      await writePrivateFile(files.key, made.key)
      await writePrivateFile(files.cert, made.cert)
      return made
    },
  }
}

/** One file may be older than the other, after a crash between the two. */
function isFit(
  { cert, key }: ServingCertificate,
  authority: InstalledAuthority,
  names: CertificateNames,
): boolean {
  if (!belongTogether(cert, key)) return false
  const certificate = new X509Certificate(cert)
  return isIssuedBy(certificate, authority.certificate) && isFor(certificate, names)
}

async function make(
  authority: InstalledAuthority,
  names: CertificateNames,
  now: number,
): Promise<ServingCertificate> {
  const { issueServer } = await import('./issue.ts')
  const key = newKey()
  const cert = await issueServer({ issuer: authority, key, names }, now)
  return { cert, key, authority: authority.cert }
}
