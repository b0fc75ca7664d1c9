import { randomUUID } from 'node:crypto'
import type { IdentityOptions } from '../../apiserver/authentication/identity-options.ts'
import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { sign, type TokenIssuance, TokenIssuer } from '../../auth/tokens/token-issuer.ts'
import type { TokenContents } from '../../controllers/serviceaccounts-controller.ts'
import type { Clock } from '../../lib/clock.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { createFailureLog } from '../system/failure-log.ts'
import {
  type AccountKeys,
  ensureSigningKey,
  parseAccountKeys,
  readKeyFiles,
} from './account-keys.ts'
import { readClientAuthorities } from './client-authorities.ts'
import { type Followed, followFiles } from './followed-files.ts'
import { openOidcProvider } from './oidc-provider.ts'
import { followTokenFile } from './token-file.ts'

/** How this server authenticates its users. Its files are watched until `stop`. */
export interface OpenedIdentity {
  readonly options: IdentityOptions
  /** The authorities whose client certificates are accepted, PEM. */
  readonly clientAuthorities: Followed<string>
  /** Signs a token that is stored in a Secret, with exactly these claims. */
  readonly sign: TokenContents['sign']
  stop(): void
}

export interface IdentityParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Authenticators of clients in this process. */
  readonly own: readonly Authenticator[]
}

/**
 * Reads keys and authorities, creates missing ones, and sets up authentication.
 * @throws NP_AUTH_KEY, NP_AUTH_TOKEN_FILE, NP_ORCHSERVER_CERTIFICATE, NP_ORCHSERVER_FILE
 */
export async function openIdentity(
  config: OrchServerConfiguration,
  { own, ...parts }: IdentityParts,
): Promise<OpenedIdentity> {
  const { authentication, serviceAccounts } = config
  using opened = new DisposableStack()
  const stopped = <T>(followed: Followed<T>): Followed<T> => {
    opened.defer(() => followed.stop())
    return followed
  }
  await ensureSigningKey(config)
  const keys = stopped(
    await followFiles({
      ...parts,
      read: () => readKeyFiles(config),
      parse: parseAccountKeys,
      what: 'the keys of service accounts',
    }),
  )
  const clientAuthorities = stopped(
    await followFiles({
      ...parts,
      read: () => readClientAuthorities(config, parts.clock),
      parse: (text) => text,
      what: 'the authorities of client certificates',
    }),
  )
  const { tokenFile } = authentication
  const tokens = tokenFile === '' ? undefined : stopped(await followTokenFile(tokenFile, parts))
  const oidc = await openOidcProvider(authentication.oidc, {
    clock: parts.clock,
    onError: createFailureLog(parts, () => OIDC_FAILURE),
  })
  const { issuers, audiences, maxTokenExpiration, jwksURI } = serviceAccounts
  const held = opened.move()
  return {
    options: {
      issuers,
      audiences: audiences.length > 0 ? audiences : issuers,
      keys: () => keys.current().verification,
      issuer: createIssuer(issuers[0] ?? '', keys, parts.clock),
      authenticators: [...own, ...(tokens ? [atTheMoment(tokens)] : []), ...(oidc ? [oidc] : [])],
      anonymousPaths: authentication.anonymousPaths,
      onRejected: logRejections(parts),
      ...(maxTokenExpiration > 0 && { maxTokenLifetime: Math.floor(maxTokenExpiration / 1000) }),
      ...(jwksURI !== '' && { jwksUri: jwksURI }),
    },
    clientAuthorities,
    sign: (payload) => sign(payload, keys.current().signing),
    stop: () => held.dispose(),
  }
}

const OIDC_FAILURE = {
  level: 'error',
  message: 'the provider that manages users is not reached, and its users are rejected',
} as const

/** Issues tokens; each is signed with the key that is the first at that time. */
function createIssuer(
  issuer: string,
  keys: Followed<AccountKeys>,
  clock: Clock,
): TokenIssuance['issuer'] {
  return {
    issue(request) {
      const key = keys.current().signing
      return new TokenIssuer({ issuer, key, clock, newId: randomUUID }).issue(request)
    },
  }
}

function atTheMoment(tokens: Followed<Authenticator>): Authenticator {
  return { authenticate: (credentials) => tokens.current().authenticate(credentials) }
}

/**
 * Logs why credentials were rejected. Reasons are fixed texts, so their number is bounded and none contains a
 * part of a token.
 */
function logRejections(parts: Pick<IdentityParts, 'clock' | 'log'>): (reason: string) => void {
  const failures = new FailureLog(parts)
  return (reason) =>
    failures.report(reason, {
      level: 'warn',
      fields: { reason },
      message: 'credentials were rejected',
      summary: () => ({ reason }),
    })
}
