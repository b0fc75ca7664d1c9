import { X509Certificate } from 'node:crypto'

/** Why a certificate (PEM) is not valid at `now` (ms since the epoch); undefined where it is. */
export function invalidTime(pem: string, now: number): string | undefined {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  if (now >= validToDate.getTime()) {
    return `our client certificate expired at ${validToDate.toISOString()}`
  }
  if (now >= validFromDate.getTime()) return undefined
  return `our client certificate is not valid before ${validFromDate.toISOString()}: check the clock`
}
