import { X509Certificate } from 'node:crypto'
import { isRecord, parseJson } from '../json.ts'

/**
 * When a bearer token says that it expires (claim `exp`, RFC 7519), in epoch milliseconds;
 * undefined for one that is no JSON Web Token or does not say. Nothing is verified: the
 * API server does that.
 */
export function tokenExpiry(token: string): number | undefined {
  const [, payload, signature] = token.split('.')
  if (payload === undefined || signature === undefined) return undefined
  const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'))
  const seconds = isRecord(claims) ? claims['exp'] : undefined
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1_000 : undefined
}

/** The end of a PEM certificate's validity in epoch milliseconds; undefined where it cannot be parsed. */
export function certificateExpiry(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime()
  } catch {
    return undefined
  }
}

/** Why a certificate (PEM) is not valid at `now` (ms since the epoch); undefined where it is. */
export function invalidTime(pem: string, now: number): string | undefined {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  if (now >= validToDate.getTime()) {
    return `our client certificate expired at ${validToDate.toISOString()}`
  }
  if (now >= validFromDate.getTime()) return undefined
  return `our client certificate is not valid before ${validFromDate.toISOString()}: check the clock`
}
