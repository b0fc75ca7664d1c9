import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isDeepEqual } from '../../lib/equal.ts'
import type { CertificateNames } from './certificate-names.ts'

/** Less than a third of its life is left, or its life has not begun. */
export function isDue(certificate: X509Certificate, now: number): boolean {
  const from = certificate.validFromDate.getTime()
  const until = certificate.validToDate.getTime()
  return now < from || until - now < (until - from) / 3
}

/** Whether a key belongs to a certificate. Both in PEM; false also where one of them is none. */
export function belongTogether(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

/** Whether an authority made a certificate, or could have: what counts is its key. */
export function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

/** Whether a certificate is good for exactly these names. */
export function isFor(certificate: X509Certificate, { dns, ips }: CertificateNames): boolean {
  const entries = (certificate.subjectAltName ?? '').split(', ')
  return (
    entries.length === dns.length + ips.length &&
    dns.every((name) => entries.includes(`DNS:${name}`)) &&
    ips.every((ip) => certificate.checkIP(ip) !== undefined)
  )
}

/** Whether a certificate makes a client exactly this user, with exactly these groups in this order. */
export function isOfUser(
  certificate: X509Certificate,
  user: string,
  groups: readonly string[],
): boolean {
  const { subject, ext_key_usage: usage } = certificate.toLegacyObject() as LegacyCertificate
  return (
    isDeepEqual({ ...subject }, { CN: user, ...(groups.length > 0 && { O: oneOrMany(groups) }) }) &&
    isDeepEqual(usage, [CLIENT_AUTH])
  )
}

/** Node returns a part that occurs once as a text. */
function oneOrMany(values: readonly string[]): unknown {
  return values.length === 1 ? values[0] : values
}

interface LegacyCertificate {
  readonly subject: Readonly<Record<string, unknown>>
  readonly ext_key_usage?: readonly string[]
}

/** RFC 5280 §4.2.1.12: id-kp-clientAuth. */
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
