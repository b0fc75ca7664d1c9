import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { Clock } from '../../lib/clock.ts'
import { AUTHENTICATED, type User } from '../user.ts'
import type { Authentication, Authenticator } from './authenticator.ts'

/** Accepted signature algorithms. Those with a shared secret (HMAC) are excluded. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'EdDSA']

/** Seconds by which the clocks of two machines may differ. */
const LEEWAY = 10

/** Names with this prefix belong to the cluster: an external provider may not assign them. */
const RESERVED = 'system:'

export interface OidcOptions {
  /** `iss` of the tokens, exactly. An https URL. */
  readonly issuer: string
  /** A token must be for it. */
  readonly clientId: string
  /** Finds the key of a token; rejects where the keys cannot be read. */
  readonly keys: JWTVerifyGetKey
  /** The claim that is the user's name; default `sub`. */
  readonly userClaim?: string
  /** Prefix of each user name. Default: the issuer and `#`, or nothing if the claim is `email`. */
  readonly userPrefix?: string
  /** The claim with the groups: a text or a list of texts; absent: none. */
  readonly groupsClaim?: string
  /** Prefix of each group name. */
  readonly groupsPrefix?: string
  readonly clock: Clock
}

/** Accepts the ID tokens of an OpenID Connect provider, which manages users outside of the cluster. */
export class OidcAuthenticator implements Authenticator {
  readonly #options: OidcOptions

  constructor(options: OidcOptions) {
    this.#options = options
  }

  async authenticate({
    bearerToken,
  }: {
    readonly bearerToken?: string
  }): Promise<Authentication | undefined> {
    const { issuer, clientId, keys, clock } = this.#options
    if (bearerToken === undefined || issuerOf(bearerToken) !== issuer) return undefined
    try {
      const { payload } = await jwtVerify(bearerToken, keys, {
        issuer,
        audience: clientId,
        algorithms: ALGORITHMS,
        clockTolerance: LEEWAY,
        currentDate: new Date(clock.now()),
        requiredClaims: ['exp', 'iat'],
      })
      return this.#userOf(payload)
    } catch (error) {
      return {
        rejected: error instanceof errors.JOSEError ? error.code : 'its keys are not available',
      }
    }
  }

  #userOf(payload: JWTPayload): Authentication {
    const { issuer, userClaim = 'sub', groupsClaim, groupsPrefix = '' } = this.#options
    const { userPrefix = userClaim === 'email' ? '' : `${issuer}#` } = this.#options
    const claimed = payload[userClaim]
    if (typeof claimed !== 'string' || claimed === '')
      return rejected(`it has no claim ${userClaim}`)
    // An absent claim is accepted. Any value other than true, also the string "true", is not.
    if (userClaim === 'email' && ![undefined, true].includes(payload['email_verified'] as true)) {
      return rejected('its email address is not verified')
    }
    const groups = groupsClaim === undefined ? [] : textsOf(payload[groupsClaim])
    if (groups === undefined) return rejected(`its claim ${groupsClaim} is not a list of strings`)
    const user: User = {
      name: userPrefix + claimed,
      groups: [...groups.map((group) => groupsPrefix + group)],
    }
    const reserved = [user.name, ...user.groups].find((name) => name.startsWith(RESERVED))
    if (reserved !== undefined) return rejected(`it claims a name that begins with ${RESERVED}`)
    return { user: { ...user, groups: [...user.groups, AUTHENTICATED] } }
  }
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function textsOf(claim: unknown): readonly string[] | undefined {
  if (claim === undefined) return []
  const list: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  return list.every((one) => typeof one === 'string') ? list : undefined
}

function rejected(why: string): Authentication {
  return { rejected: why }
}
