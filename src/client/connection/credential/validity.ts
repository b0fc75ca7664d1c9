import { X509Certificate } from 'node:crypto'
import { isJsonObject, type JsonObject, parseJson } from '../../../lib/json.ts'

/** When a credential is valid, in epoch milliseconds. */
export interface Validity {
  /** Undefined if the credential does not contain the time of its issue. */
  readonly from?: number
  readonly to: number
}

/**
 * The claims of a JSON Web Token (RFC 7519); undefined for any other token. Nothing is verified: the API server
 * does that.
 */
export function tokenClaims(token: string): JsonObject | undefined {
  const [, payload, signature] = token.split('.')
  if (payload === undefined || signature === undefined) return undefined
  const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'))
  return isJsonObject(claims) ? claims : undefined
}

/** From claim `iat` to claim `exp`; undefined for a token without an end. */
export function tokenValidity(token: string): Validity | undefined {
  const claims = tokenClaims(token)
  const from = milliseconds(claims?.['iat'])
  const to = milliseconds(claims?.['exp'])
  return to === undefined ? undefined : { ...(from !== undefined && { from }), to }
}

/** The validity of a PEM certificate; undefined if it cannot be parsed. */
export function certificateValidity(pem: string): Validity | undefined {
  try {
    const { validFromDate, validToDate } = new X509Certificate(pem)
    return { from: validFromDate.getTime(), to: validToDate.getTime() }
  } catch {
    return undefined
  }
}

/** The assumed length of a validity without a known beginning. */
const USUAL_LIFE_MS = 30 * 86_400_000

/**
 * The share of its lifetime that a credential has left when it should have been renewed. Programs that renew token
 * files do so when a fifth is left, and a credential plugin runs half a minute before the end.
 */
const LATE_PART = { certificate: 0.2, token: 0.2, 'token-file': 0.1, exec: 0 } as const

/** The time from which a credential counts as late, because it should have been replaced, in epoch milliseconds. */
export function lateFrom(kind: keyof typeof LATE_PART, { from, to }: Validity): number {
  return to - LATE_PART[kind] * (to - (from ?? to - USUAL_LIFE_MS))
}

/** Why a client certificate (PEM) is not valid at `now` (epoch milliseconds); undefined if it is valid. */
export function invalidTime(pem: string, now: number): string | undefined {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  if (now >= validToDate.getTime()) {
    return `our client certificate expired at ${validToDate.toISOString()}`
  }
  if (now >= validFromDate.getTime()) return undefined
  return `our client certificate is not valid before ${validFromDate.toISOString()}: check the clock`
}

function milliseconds(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1_000 : undefined
}
