import { createHash, hash, timingSafeEqual } from 'node:crypto'
import { type CompactJWSHeaderParameters, compactVerify, decodeProtectedHeader } from 'jose'
import type { Clock } from '../../lib/clock.ts'
import { isJsonObject, type JsonObject, stringAt } from '../../lib/json.ts'
import { accountGroups, accountUserName } from '../service-account-name.ts'
import {
  type AccountClaims,
  type BoundObject,
  readAccountClaims,
  readSecretClaims,
  SECRET_ISSUER,
} from '../tokens/account-claims.ts'
import type { VerificationKey } from '../tokens/signing-key.ts'
import type { User } from '../user.ts'
import type { Authentication, Authenticator, Credentials } from './authenticator.ts'

/** What decides whether a token that is bound to an object may still be used. */
export interface LiveObject {
  readonly uid: string
  /** Milliseconds since 1970; undefined: it is not being deleted. */
  readonly deletedAt: number | undefined
}

/** The objects that tokens depend on, as the caches of the server show them. */
export interface AccountObjects {
  account(namespace: string, name: string): LiveObject | undefined
  /** `namespace` is that of the token; it is ignored for a Node. */
  bound(namespace: string, object: BoundObject): LiveObject | undefined
  /**
   * The token in a Secret of type `kubernetes.io/service-account-token`; undefined: no such Secret or no token
   * in it.
   */
  tokenInSecret(namespace: string, name: string): string | undefined
}

/** No token that this server issues is longer. The signature of a longer one is not verified. */
const MAX_TOKEN_LENGTH = 8192

/** The clock difference between two machines that is tolerated, in seconds. */
const LEEWAY = 60

/** Header fields with which a token chooses its own key, or requires an extension that is not supported. */
const FORBIDDEN_HEADERS = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip'] as const

/** How many verified tokens are cached; the least recently used one is evicted. */
const MAX_TOKENS = 20_000

/** How long a token is still accepted after deletion of its account or bound object began, in milliseconds. */
const DELETION_GRACE_MS = 60_000

export interface AccountAuthenticatorOptions {
  /** The first one signs; the others were used before, or by other servers. */
  readonly issuers: readonly string[]
  readonly keys: () => readonly VerificationKey[]
  readonly audiences: readonly string[]
  readonly objects: AccountObjects
  readonly clock: Clock
  /** Called for each accepted request with the id of the key that signed its token. */
  readonly onAccepted?: (keyId: string) => void
}

/** A token whose signature was verified, and what it says. */
interface KnownToken {
  readonly user: User
  readonly claims: AccountClaims
  readonly audiences: readonly string[]
  readonly keyId: string
  /** Seconds since 1970; undefined: it does not expire. */
  readonly expires: number | undefined
  /** The Secret that must hold exactly this token; undefined: the token is not stored in a Secret. */
  readonly secretName: string | undefined
}

/** An accepted token. `audiences`: the requested audiences that the token is also for. */
export type AccountAuthentication =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly rejected: string }

/**
 * Accepts tokens of accounts. A signature is verified once for each token. Whether the account, Pod and Secret still
 * exist is looked up for each request. So a revocation takes effect as soon as the caches have it.
 */
export class AccountAuthenticator implements Authenticator {
  readonly #options: AccountAuthenticatorOptions
  readonly #verified: VerifiedTokens<KnownToken>
  /** Tokens by the object that a connection keeps while it sends the same token, so that no hash is computed again. */
  readonly #ofConnections = new WeakMap<Credentials, KnownToken>()

  constructor(options: AccountAuthenticatorOptions) {
    this.#options = options
    this.#verified = new VerifiedTokens(options.clock)
  }

  async authenticate(credentials: Credentials): Promise<Authentication | undefined> {
    const { bearerToken } = credentials
    if (bearerToken === undefined) return undefined
    const { audiences, clock } = this.#options
    const last = this.#ofConnections.get(credentials)
    const isKnown = last !== undefined && !hasExpired(last, clock.now())
    const known = isKnown ? last : await this.#know(bearerToken, audiences)
    if (known === undefined || 'rejected' in known) return known
    this.#ofConnections.set(credentials, known)
    const found = this.#accept(known, bearerToken)
    if ('user' in found) this.#options.onAccepted?.(known.keyId)
    return found
  }

  /** Authenticates a token for at least one of the audiences; undefined: another issuer made it. */
  async review(
    token: string,
    audiences: readonly string[],
  ): Promise<AccountAuthentication | undefined> {
    const known = await this.#know(token, audiences)
    return known === undefined || 'rejected' in known ? known : this.#accept(known, token)
  }

  /** The content of a token. The signature is verified when the token is seen for the first time. */
  async #know(
    token: string,
    audiences: readonly string[],
  ): Promise<KnownToken | { readonly rejected: string } | undefined> {
    const scope = audiences === this.#options.audiences ? '' : JSON.stringify(audiences)
    const key = `${token} ${scope}`
    const known = this.#verified.get(key)
    if (known !== undefined) return known
    const verified = await this.#verify(token, audiences)
    if (verified !== undefined && !('rejected' in verified)) {
      this.#verified.set(key, verified, verified.expires)
    }
    return verified
  }

  #accept(known: KnownToken, token: string): AccountAuthentication {
    const fault = this.#faultOf(known, token)
    return fault === undefined ? known : { rejected: fault }
  }

  async #verify(
    token: string,
    audiences: readonly string[],
  ): Promise<KnownToken | { readonly rejected: string } | undefined> {
    const { issuers, keys, clock } = this.#options
    const issuer = [...issuers, SECRET_ISSUER].find((one) => claimsIssuer(token, one))
    if (issuer === undefined) return undefined
    const given = { issuer, keys: keys(), audiences, now: clock.now() }
    const verified = await verifyToken(token, given)
    if ('rejected' in verified) return verified
    const { payload, keyId, expires } = verified
    const secretClaims = issuer === SECRET_ISSUER ? readSecretClaims(payload) : undefined
    const claims = issuer === SECRET_ISSUER ? secretClaims : readAccountClaims(payload)
    if (claims === undefined) return { rejected: 'it names no account' }
    if (issuer !== SECRET_ISSUER && (expires === undefined || verified.audiences === undefined)) {
      return { rejected: 'it has no end or no audience' }
    }
    // A token that is stored in a Secret names no audience: it is for this server alone.
    const named = verified.audiences ?? this.#options.audiences
    const shared = audiences.filter((audience) => named.includes(audience))
    if (shared.length === 0) return { rejected: 'it is for another audience' }
    return {
      user: userOf(claims, stringAt(payload, 'jti')),
      claims,
      audiences: shared,
      keyId,
      expires,
      secretName: secretClaims?.secretName,
    }
  }

  /** Why a token with a valid signature is no longer accepted; undefined: it is accepted. */
  #faultOf({ claims, keyId, secretName }: KnownToken, token: string): string | undefined {
    const { objects, keys } = this.#options
    if (!keys().some(({ id }) => id === keyId)) return 'its key was removed'
    const { namespace, account, bound } = claims
    if (!this.#isAlive(objects.account(namespace, account.name), account.uid)) {
      return 'its account was deleted'
    }
    if (bound !== undefined && !this.#isAlive(objects.bound(namespace, bound), bound.uid)) {
      return `the ${bound.kind} that it is bound to was deleted`
    }
    if (secretName === undefined) return undefined
    const stored = objects.tokenInSecret(namespace, secretName)
    return stored !== undefined && isSame(stored, token)
      ? undefined
      : 'its Secret does not hold it any more'
  }

  #isAlive(object: LiveObject | undefined, uid: string): boolean {
    if (object?.uid !== uid) return false
    const { deletedAt } = object
    return deletedAt === undefined || deletedAt + DELETION_GRACE_MS > this.#options.clock.now()
  }
}

function userOf({ namespace, account, bound }: AccountClaims, tokenId: string): User {
  const extra = new Map<string, readonly string[]>()
  const say = (name: string, value: string): void => {
    extra.set(`authentication.kubernetes.io/${name}`, [value])
  }
  if (tokenId !== '') say('credential-id', `JTI=${tokenId}`)
  if (bound !== undefined && bound.kind !== 'secret') {
    say(`${bound.kind}-name`, bound.name)
    say(`${bound.kind}-uid`, bound.uid)
  }
  return {
    name: accountUserName({ namespace, name: account.name }),
    uid: account.uid,
    groups: accountGroups(namespace),
    extra,
  }
}

function hasExpired({ expires }: KnownToken, now: number): boolean {
  return expires !== undefined && expires <= now / 1000
}

function isSame(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/**
 * The contents of verified tokens, keyed by the hash of the token, so that neither a memory dump nor the time
 * of a lookup reveals a token. A token that has expired is not found.
 */
class VerifiedTokens<Known> {
  readonly #clock: Clock
  readonly #tokens = new Map<string, { readonly value: Known; readonly expires: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(token: string): Known | undefined {
    const key = hashOf(token)
    const found = this.#tokens.get(key)
    if (found === undefined) return undefined
    this.#tokens.delete(key)
    if (found.expires <= this.#clock.now() / 1000) return undefined
    this.#tokens.set(key, found)
    return found.value
  }

  /** `expires`: seconds since 1970; undefined: never. */
  set(token: string, value: Known, expires = Number.POSITIVE_INFINITY): void {
    this.#tokens.set(hashOf(token), { value, expires })
    if (this.#tokens.size <= MAX_TOKENS) return
    for (const oldest of this.#tokens.keys()) {
      this.#tokens.delete(oldest)
      break
    }
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64')
}

interface VerifyOptions {
  /** `iss` that a token must have, exactly. */
  readonly issuer: string
  readonly keys: readonly VerificationKey[]
  /** A token must be for one of them. */
  readonly audiences: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
}

interface VerifiedToken {
  readonly payload: JsonObject
  /** The id of the key that verified the signature. */
  readonly keyId: string
  /** The requested audiences that the token names; undefined: it names none, like tokens that are stored in Secrets. */
  readonly audiences: readonly string[] | undefined
  /** Seconds since 1970; undefined: it does not expire. */
  readonly expires: number | undefined
}

/** Why a token is not accepted: for the log of the server, never for the client. */
interface RejectedToken {
  readonly rejected: string
}

/** Whether a token claims this issuer. Cheap: the signature is not verified. */
function claimsIssuer(token: string, issuer: string): boolean {
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
  if (header === undefined) return rejected('it is not a signed token')
  const forbidden = FORBIDDEN_HEADERS.find((name) => header[name] !== undefined)
  if (forbidden !== undefined) return rejected(`its header has ${forbidden}`)
  const signed = await verifySignature(token, header, options.keys)
  if (signed === undefined) return rejected(unverified(header, options.keys))
  const checked = checkClaims(signed.payload, options)
  return 'rejected' in checked ? checked : { ...signed, ...checked }
}

/**
 * Why no key verified a token. Another server of the same etcd may have issued one whose key is not known here. The
 * reason does not name the key: any client can send a token with any id of a key.
 */
function unverified({ kid }: CompactJWSHeaderParameters, keys: readonly VerificationKey[]): string {
  if (kid === undefined || keys.some(({ id }) => id === kid)) return 'no key verifies its signature'
  return 'its key is not known to this server; servers of one etcd need the same serviceAccounts.signingKeyFile'
}

/** The payload, if the key named by the token's `kid` verifies it, or any key where the token has no `kid`. */
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
    if (time !== undefined && !Number.isFinite(time))
      return rejected('a time in it is not a number')
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

/** Whether a text is the canonical base64url form of its bytes: no padding, no stray bits, no other characters. */
function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text
}

function rejected(why: string): RejectedToken {
  return { rejected: why }
}
