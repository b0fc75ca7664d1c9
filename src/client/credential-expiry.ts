import { X509Certificate } from 'node:crypto'
import { isRecord, parseJson } from './json.ts'

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

/** When a certificate (PEM) ends, in epoch milliseconds; undefined for one that cannot be read. */
export function certificateExpiry(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime()
  } catch {
    return undefined
  }
}
