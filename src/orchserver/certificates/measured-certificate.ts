import { X509Certificate } from 'node:crypto'
import type { ProcessMetrics } from '../metrics/process-metrics.ts'
import type { CertificateSource } from './serving-certificate.ts'

/** Sets the metric of the end of the certificate at each call of `current`. */
export function measuredCertificate(
  source: CertificateSource,
  { certificateEnd }: Pick<ProcessMetrics, 'certificateEnd'>,
): CertificateSource {
  return {
    async current() {
      const given = await source.current()
      certificateEnd.set(new X509Certificate(given.cert).validToDate.getTime() / 1000)
      return given
    },
  }
}
