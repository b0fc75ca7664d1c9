import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CertificateSource } from './serving-certificate.ts'

export interface ValidityWarningOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Logger, 'warn'>
}

const REPEAT_MS = 600_000

/**
 * Warns when `current` gives a certificate that has expired or is not valid yet, and again every ten minutes
 * as long as it does.
 */
export function warningOfValidity(
  source: CertificateSource,
  { clock, log }: ValidityWarningOptions,
): CertificateSource {
  let warned = { cert: '', at: 0 }
  return {
    async current() {
      const given = await source.current()
      const { validFromDate, validToDate } = new X509Certificate(given.cert)
      const now = clock.now()
      const isValid = now >= validFromDate.getTime() && now <= validToDate.getTime()
      const isSaid = warned.cert === given.cert && Math.abs(now - warned.at) < REPEAT_MS
      if (!isValid && !isSaid) {
        warned = { cert: given.cert, at: now }
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
