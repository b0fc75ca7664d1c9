import { Agent, fetch } from 'undici'
import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { OidcAuthenticator } from '../../auth/authentication/oidc-authenticator.ts'
import { discoverKeys, type FetchedDocument } from '../../auth/authentication/oidc-discovery.ts'
import { type Clock, steadyClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { readAuthorities } from '../certificates/pem.ts'
import type { OidcConfiguration } from '../config/configuration.ts'

/** How long a request to the provider may take, in milliseconds: the user of a token waits for it. */
const TIMEOUT_MS = 5000

/**
 * Authenticates the users of an OpenID Connect provider; undefined: none is configured.
 * @throws NP_ORCHSERVER_CERTIFICATE
 */
export async function openOidcProvider(
  config: OidcConfiguration,
  { clock, onError }: { readonly clock: Clock; readonly onError: (error: unknown) => void },
): Promise<Authenticator | undefined> {
  const { issuerURL: issuer, clientID, usernameClaim, usernamePrefix } = config
  if (issuer === '') return undefined
  const ca = await readOidcAuthorities(config)
  const dispatcher = new Agent({ connect: ca === undefined ? {} : { ca } })
  const get = async (url: string): Promise<FetchedDocument> => {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      return await fetch(url, { dispatcher, redirect: 'error', signal })
    } catch (cause) {
      onError(unreachable(url, cause))
      throw cause
    }
  }
  const keys = discoverKeys(issuer, get, steadyClock)
  const userPrefix = usernamePrefix === '-' ? '' : usernamePrefix
  return new OidcAuthenticator({
    issuer,
    clientId: clientID,
    clock,
    userClaim: usernameClaim,
    keys,
    ...(usernamePrefix !== '' && { userPrefix }),
    ...(config.groupsClaim !== '' && { groupsClaim: config.groupsClaim }),
    groupsPrefix: config.groupsPrefix,
  })
}

/**
 * The authorities by which the provider is verified, PEM; undefined: no file is configured.
 * @throws NP_ORCHSERVER_CERTIFICATE
 */
export function readOidcAuthorities({ caFile }: OidcConfiguration): Promise<string | undefined> {
  return readAuthorities(caFile, 'give the authorities of the provider in PEM (--oidc-ca-file)')
}

function unreachable(url: string, cause: unknown): NodeProxyError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return new NodeProxyError(
    'NP_ORCHSERVER_OIDC',
    `${url}, of the provider that manages users, cannot be read: ${String(reason)}`,
    {
      object: url,
      hint: 'check --oidc-issuer-url, the provider, and the authorities in --oidc-ca-file; its users are rejected until then',
      cause,
    },
  )
}
