import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { belongTogether } from '../../lib/tls/pem.ts'
import { writePrivateFile } from '../system/private-file.ts'
import { type InstalledAuthority, openAuthority } from './authority.ts'
import { isDue, isIssuedBy } from './certificate-validity.ts'
import { newKey, readIfPresent } from './pem.ts'

/** A kind of certificate that our authority issues and that is stored in the authority's folder. */
export interface KeptKind {
  /** The files are named `<name>.crt` and `<name>.key`. */
  readonly name: string
  /**
   * Whether the names or the subject of a certificate are as required; its issuer, key and dates are checked
   * elsewhere.
   */
  isFit(certificate: X509Certificate): boolean
  /** Issues a certificate for a key, both in PEM. */
  issue(issuer: InstalledAuthority, key: string, now: number): Promise<string>
}

/** All in PEM. */
export interface KeptCertificate {
  readonly cert: string
  readonly key: string
  /** The certificate of the authority that issued `cert`. */
  readonly authority: string
}

/**
 * The certificate of a kind in the folder of the authority. Certificate and key are created if needed, readable
 * for this user only. The certificate is replaced before it expires, and when it does not fit.
 * @throws NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
 */
export async function keptCertificate(
  folder: string,
  kind: KeptKind,
  now: number,
): Promise<KeptCertificate> {
  const files = { cert: join(folder, `${kind.name}.crt`), key: join(folder, `${kind.name}.key`) }
  const authority = await openAuthority(folder, now)
  const [cert, key] = [await readIfPresent(files.cert), await readIfPresent(files.key)]
  if (cert !== undefined && key !== undefined && isUsable(cert, key, authority)) {
    const certificate = new X509Certificate(cert)
    if (kind.isFit(certificate) && !isDue(certificate, now)) {
      return { cert, key, authority: authority.cert }
    }
  }
  const newer = newKey()
  const made = await kind.issue(authority, newer, now)
  await writePrivateFile(files.key, newer)
  await writePrivateFile(files.cert, made)
  return { cert: made, key: newer, authority: authority.cert }
}

/** Whether certificate, key and authority belong together: after a crash one file may be older than the other. */
function isUsable(cert: string, key: string, authority: InstalledAuthority): boolean {
  return belongTogether(cert, key) && isIssuedBy(new X509Certificate(cert), authority.certificate)
}
