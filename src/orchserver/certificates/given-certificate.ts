import { X509Certificate } from 'node:crypto'
import { belongTogether } from './fitness.ts'
import { readPem, unusable } from './pem-file.ts'
import type { CertificateSource } from './serving-certificate.ts'

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** A certificate that somebody else makes and renews, in two files. */
export function givenCertificate(certFile: string, keyFile: string): CertificateSource {
  return {
    async current() {
      const [cert, key] = [await readPem(certFile), await readPem(keyFile)]
      if (belongTogether(cert, key)) return { cert, key, authority: rootOf(cert) }
      throw unusable(certFile, `and ${keyFile} do not belong together`, HINT)
    },
  }
}

const HINT = 'give a certificate in PEM, first in its file, and its key'

/** The certificate of a chain that needs no other to vouch for it. */
function rootOf(chain: string): string | undefined {
  return chain.match(BLOCK)?.find((pem) => {
    const certificate = new X509Certificate(pem)
    return certificate.verify(certificate.publicKey)
  })
}
