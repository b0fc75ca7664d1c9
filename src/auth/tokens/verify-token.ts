import { type CompactJWSHeaderParameters, compactVerify, decodeProtectedHeader } from 'jose'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import type { VerificationKey } from './signing-key.ts'

/** No token of ours is longer; a longer one is refused before anything is read of it. */
const MAX_TOKEN_LENGTH = 8192

/** By how much the clocks of two machines may differ, in seconds. */
const LEEWAY = 60

/** Header fields by which a token would choose its own key, or demand what is not understood. */
const FORBIDDEN_HEADERS = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip'] as const

export interface VerifyOptions {
  /** `iss` that a token must have, exactly. */
  readonly issuer: string
  readonly keys: readonly VerificationKey[]
  /** A token must be for one of them. */
  readonly audiences: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface VerifiedToken {
  readonly payload: JsonObject
  /** The id of the key that verified it. */
  readonly keyId: string
  /** Those of the token that were requested; undefined: it names none, as those in Secrets. */
  readonly audiences: readonly string[] | undefined
  /** Seconds since 1970; undefined: it does not expire. */
  readonly expires: number | undefined
}

/** Why a token is not accepted: for the log of the server, never for the client. */
export interface RejectedToken {
  readonly rejected: string
}

/** Whether a token claims an issuer, before its signature is looked at: cheap. */
export function claimsIssuer(token: string, issuer: string): boolean {
  return payloadOf(token)?.['iss'] === issuer
}

/** Verifies signature, issuer, times and audience. */
export async function verifyToken(
  token: string,
  options: VerifyOptions,
): Promise<VerifiedToken | RejectedToken> {
  if (token.length > MAX_TOKEN_LENGTH) return rejected('it is too long')
  if (!token.split('.').every(isCanonical)) return rejected('its encoding is not base64url')
  const header = headerOf(token)
  if (header === undefined) return rejected('it is no signed token')
  const forbidden = FORBIDDEN_HEADERS.find((name) => header[name] !== undefined)
  if (forbidden !== undefined) return rejected(`its header has ${forbidden}`)
  const signed = await verifySignature(token, header, options.keys)
  if (signed === undefined) return rejected('no key verifies its signature')
  const checked = checkClaims(signed.payload, options)
  return 'rejected' in checked ? checked : { ...signed, ...checked }
}

/** The payload, when the key of the token's `kid`, or without one any key, verifies it. */
async function verifySignature(
  token: string,
  { alg, kid }: CompactJWSHeaderParameters,
  keys: readonly VerificationKey[],
): Promise<Pick<VerifiedToken, 'payload' | 'keyId'> | undefined> {
  for (const { id, algorithm, key } of keys) {
    if (algorithm !== alg || (kid !== undefined && kid !== id)) continue
    try {
      const signed = await compactVerify(token, key, { algorithms: [algorithm] })
      const payload = parsePayload(signed.payload)
      return payload && { payload, keyId: id }
    } catch {
      // another key may verify it
    }
  }
  return undefined
}

function checkClaims(
  payload: JsonObject,
  options: VerifyOptions,
): Pick<VerifiedToken, 'audiences' | 'expires'> | RejectedToken {
  const { iss, exp, nbf, iat, aud } = payload
  const now = options.now / 1000
  if (iss !== options.issuer) return rejected('another issuer signed it')
  for (const time of [exp, nbf, iat]) {
    if (time !== undefined && !Number.isFinite(time)) return rejected('a time in it is no number')
  }
  if (typeof exp === 'number' && exp <= now) return rejected('it has expired')
  if (typeof nbf === 'number' && nbf > now + LEEWAY) return rejected('it is not valid yet')
  if (typeof iat === 'number' && iat > now + LEEWAY) return rejected('it was issued in the future')
  const expires = typeof exp === 'number' ? exp : undefined
  if (aud === undefined) return { audiences: undefined, expires }
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const audiences = options.audiences.filter((audience) => named.includes(audience))
  return audiences.length === 0 ? rejected('it is for another audience') : { audiences, expires }
}

function headerOf(token: string): CompactJWSHeaderParameters | undefined {
  try {
    const header = decodeProtectedHeader(token)
    return typeof header.alg === 'string' ? (header as CompactJWSHeaderParameters) : undefined
  } catch {
    return undefined
  }
}

function payloadOf(token: string): JsonObject | undefined {
  const [, payload = ''] = token.split('.')
  return parsePayload(Buffer.from(payload, 'base64url'))
}

function parsePayload(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether base64url text is the one form of its bytes: no padding, no stray bits, no other letters. */
function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text
}

function rejected(why: string): RejectedToken {
  return { rejected: why }
}
