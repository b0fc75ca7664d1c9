import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CertificateSource } from './serving-certificate.ts'

export interface ValidityWarningOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Logger, 'warn'>
}

/** Warns at each call of `current` of a certificate that has expired or is not valid yet. */
export function warningOfValidity(
  source: CertificateSource,
  { clock, log }: ValidityWarningOptions,
): CertificateSource {
  return {
    async current() {
      const given = await source.current()
      const { validFromDate, validToDate } = new X509Certificate(given.cert)
      const now = clock.now()
      if (now < validFromDate.getTime() || now > validToDate.getTime()) {
        const [validFrom, validTo] = [validFromDate.toISOString(), validToDate.toISOString()]
        log.warn(
          { validFrom, validTo },
          'the serving certificate is not valid now, so clients refuse it: renew its files, or set the clock',
        )
      }
      return given
    },
  }
}
