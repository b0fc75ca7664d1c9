import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { stringAt } from '../../lib/json.ts'
import { accountGroups, accountUserName } from '../service-account-name.ts'
import {
  type AccountClaims,
  readAccountClaims,
  readSecretClaims,
  SECRET_ISSUER,
} from '../tokens/account-claims.ts'
import type { VerificationKey } from '../tokens/signing-key.ts'
import { claimsIssuer, verifyToken } from '../tokens/verify-token.ts'
import type { User } from '../user.ts'
import type { AccountObjects, LiveObject } from './account-objects.ts'
import type { Authentication, Authenticator, Credentials } from './authenticator.ts'
import { VerifiedTokens } from './verified-tokens.ts'

/** How long a token of an object that is being deleted is still accepted, in milliseconds. */
const DELETION_GRACE_MS = 60_000

export interface AccountAuthenticatorOptions {
  /** The first one signs; the others were used before, or by other servers. */
  readonly issuers: readonly string[]
  readonly keys: () => readonly VerificationKey[]
  readonly audiences: readonly string[]
  readonly objects: AccountObjects
  readonly clock: Clock
  /** Receives the id of the key of each token that a request was accepted with. */
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
  /** The Secret that must hold exactly this token; undefined: it is in none. */
  readonly secretName: string | undefined
}

/** An accepted token, with those of the requested audiences that it is for. */
export type AccountAuthentication =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly rejected: string }

/**
 * Accepts tokens of accounts. A signature is verified once for each token; whether account, Pod
 * and Secret still exist is looked up for each request, so a revocation takes as long as the
 * caches need to learn of it.
 */
export class AccountAuthenticator implements Authenticator {
  readonly #options: AccountAuthenticatorOptions
  readonly #verified: VerifiedTokens<KnownToken>
  /** A connection that sends its token again is found without its hash. */
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

  /** Whose token it is, for one of some audiences; undefined: another issuer's. */
  async review(
    token: string,
    audiences: readonly string[],
  ): Promise<AccountAuthentication | undefined> {
    const known = await this.#know(token, audiences)
    return known === undefined || 'rejected' in known ? known : this.#accept(known, token)
  }

  /** What a token says; its signature is verified when it is seen for the first time. */
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
    // One in a Secret names no audience: it is for this server alone.
    const named = verified.audiences ?? this.#options.audiences
    const shared = audiences.filter((audience) => named.includes(audience))
    if (shared.length === 0) return { rejected: 'it is for another audience' }
    return {
      user: userOf(claims, stringAt(payload, 'jti')),
      claims,
      audiences: shared,
      ...{ keyId, expires, secretName: secretClaims?.secretName },
    }
  }

  /** Why a token whose signature is good is no longer accepted. */
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
