import type { X509Certificate } from 'node:crypto'
import type { CertificateNames } from './certificate-names.ts'

/** Less than a third of its life is left, or its life has not begun. */
export function isDue(certificate: X509Certificate, now: number): boolean {
  const from = certificate.validFromDate.getTime()
  const until = certificate.validToDate.getTime()
  return now < from || until - now < (until - from) / 3
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
