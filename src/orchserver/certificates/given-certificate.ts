import { X509Certificate } from 'node:crypto'
import { belongTogether, certificateBlocks, certificateFault, keyFault } from '../../lib/tls/pem.ts'
import type { CertificateSource } from './made-certificate.ts'
import { readPem, unusable } from './pem.ts'

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
