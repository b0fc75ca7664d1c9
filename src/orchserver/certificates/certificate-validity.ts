import type { X509Certificate } from 'node:crypto'
import type { CertificateNames } from './certificate-names.ts'

/** Whether to replace a certificate: less than a third of its lifetime is left, or it is not valid yet. */
export function isDue(certificate: X509Certificate, now: number): boolean {
  const from = certificate.validFromDate.getTime()
  const until = certificate.validToDate.getTime()
  return now < from || until - now < (until - from) / 3
}

/** Whether the key of an authority signed a certificate. */
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
